#!/usr/bin/env bash
# What lies below a report's waterfalls as SVG files of their own, for docs/radio.md: NAME-1.svg for the first arm, and so on. Needs
# Chromium and node.
#
# Usage: scripts/mechanism-figures.sh REPORT.html DIRECTORY NAME
set -euo pipefail
[ $# = 3 ] || { echo "usage: scripts/mechanism-figures.sh REPORT.html DIRECTORY NAME" >&2; exit 2; }
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$profile" \
  --virtual-time-budget=8000 --dump-dom "file://$(realpath "$1")" 2>/dev/null >"$profile/dom.html"
mkdir -p "$2"
node - "$profile/dom.html" "$2/$3" <<'JS'
const fs = require("fs");
const [, , file, place] = process.argv;
const page = fs.readFileSync(file, "utf8");
// The report's colours on paper, as its style says them.
const style = page.match(/:root\s*{([\s\S]*?)}/)[1];
const colours = Object.fromEntries([...style.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value.trim()]));
const short = (numbers) => numbers.replace(/-?\d+\.\d{2,}/g, (number) => String(Number(Number(number).toFixed(1))));
const onPaper = (svg) => svg.replace(/ (d|transform)="[^"]*"/g, short).replace(/var\(--plot-background\)/g, colours.paper).replace(/var\(--([\w-]+)\)/g, (whole, name) => colours[name] ?? whole);
const pattern = page.match(/<pattern id="promotion"[\s\S]*?<\/pattern>/);
const size = (svg, side) => Number(svg.match(new RegExp(`^<svg[^>]* ${side}="([\\d.]+)"`))[1]);
const titles = [...page.matchAll(/<figure class="waterfall"><figcaption><b>([\s\S]*?)<\/b>/g)].map(([, title]) => title);
const font = `font-family="system-ui, 'Liberation Sans', sans-serif" font-size="13" fill="${colours.ink}"`;

titles.forEach((title, index) => {
  const from = page.indexOf(`<div id="mechanism-${index}"`);
  const until = page.indexOf("<details", from);
  const [legend, lanes] = page.slice(from, until).split('<div class="lanes">');
  if (!lanes) throw new Error(`the report has nothing below its waterfall ${index + 1}`);
  const plots = lanes.match(/<svg[\s\S]*?<\/svg>/g);
  const width = size(plots[0], "width");
  let [x, y] = [10, 44];
  const signs = [...legend.matchAll(/<span class="">(<svg[\s\S]*?<\/svg>) ([^<]*)<\/span>/g)].map(([, sign, text]) => {
    const wide = 40 + 7 * text.length;
    if (x + wide > width) [x, y] = [10, y + 20];
    const item = `${sign.replace("<svg", `<svg x="${x}" y="${y - 10}"`)}<text x="${x + 24}" y="${y}">${text}</text>`;
    x += wide;
    return item;
  });
  y += 14;
  const placed = plots.map((plot) => {
    const item = plot.replace(/<style>[\s\S]*?<\/style>/, "").replace(/^<svg /, `<svg y="${y}" `).replace("background: transparent; ", "");
    y += size(plot, "height");
    return item;
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" viewBox="0 0 ${width} ${y}" color="${colours.ink}">
<defs>${pattern ? pattern[0] : ""}</defs><style>text { white-space: pre }</style><rect width="100%" height="100%" fill="${colours.paper}"/>
<g ${font}><text x="10" y="22" font-weight="bold">${title}</text>${signs.join("")}</g>
${placed.join("\n")}
</svg>
`;
  fs.writeFileSync(`${place}-${index + 1}.svg`, onPaper(svg));
});
JS
