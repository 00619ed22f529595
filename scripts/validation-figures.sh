#!/usr/bin/env bash
# The scatter plots of a validation's report as SVG files of their own, for docs/validation.md. Needs Chromium and node.
#
# Usage: scripts/validation-figures.sh REPORT.html DIRECTORY
set -euo pipefail
[ $# = 2 ] || { echo "usage: scripts/validation-figures.sh REPORT.html DIRECTORY" >&2; exit 2; }
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$profile" \
  --virtual-time-budget=8000 --dump-dom "file://$(realpath "$1")" 2>/dev/null >"$profile/dom.html"
mkdir -p "$2"
node - "$profile/dom.html" "$2" <<'JS'
const fs = require("fs");
const [, , file, directory] = process.argv;
const page = fs.readFileSync(file, "utf8");
// The report's colours on paper, as its style says them.
const style = page.match(/:root\s*{([^}]*)}/)[1];
const colours = Object.fromEntries([...style.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value.trim()]));
for (const chart of ["loads", "ratios", "browser"]) {
  const start = page.indexOf(`<div id="${chart}"`);
  const found = start < 0 ? null : page.slice(start).match(/<svg[\s\S]*?<\/svg>/);
  if (!found) throw new Error(`the report has no chart "${chart}"`);
  const svg = found[0]
    .replace(/^<svg /, `<svg xmlns="http://www.w3.org/2000/svg" color="${colours.ink}" `)
    .replace("background: transparent", `background: ${colours.paper}`)
    .replace(/var\(--plot-background\)/g, colours.paper)
    .replace(/var\(--([\w-]+)\)/g, (whole, name) => colours[name] ?? whole);
  fs.writeFileSync(`${directory}/validation-${chart}.svg`, svg + "\n");
}
JS
