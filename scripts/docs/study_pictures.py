#!/usr/bin/env python3
"""Draw one picture of each study into docs/figures, from the runs in a store.

    farlink study run --all --store out/studies.sqlite
    scripts/docs/study_pictures.py out/studies.sqlite [--farlink target/release/farlink]

The figures are those of `farlink study report NAME --html`, which draws them with scripts: a headless Chromium runs these,
and what it drew is kept as one SVG with its legend, in the colours of the light theme.
"""

import argparse
import html
import pathlib
import re
import subprocess
import tempfile
import textwrap

# The figure that shows each study's main question.
FIGURES = {
    "bth2013": "6.6",
    "cardaci2015": "3",
    "erman2013": "3",
    "kallio2016": "27",
    "petuchowski2015": "2-last",
}
ROOT = pathlib.Path(__file__).resolve().parents[2]
MARGIN = 16
LINE = 20
LEAST_WIDTH = 640
FONT = 'font-family="system-ui, sans-serif"'


def drawn(page):
    """The page's document after its scripts have run."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def colours():
    """The light theme's variables."""
    style = (ROOT / "crates/report/assets/report.css").read_text()
    root = style[style.index(":root") : style.index("}")]
    return dict(re.findall(r"(--[\w-]+):\s*([^;]+);", root))


def text(x, y, size, content, more=""):
    return f'<text x="{x}" y="{y}" font-size="{size}" {FONT} fill="var(--ink)" {more}>{content}</text>'


def legend(figure, y, width):
    """The legend's signs and words, in as many lines as they need."""
    items = re.search(r'<div class="legend">(.*?)</div>', figure, re.S)[1]
    parts, x = [], MARGIN
    for sign, words in re.findall(r"<span>(<svg.*?</svg>)(.*?)</span>", items, re.S):
        words = words.strip()
        needed = 50 + 7 * len(html.unescape(words))
        if x > MARGIN and x + needed > width:
            x, y = MARGIN, y + LINE
        parts.append(f'<g transform="translate({x} {y})">{sign}</g>' + text(x + 40, y + 11, 12, words))
        x += needed
    return "".join(parts), y + LINE


def picture(document, study, figure):
    """The figure as one SVG."""
    identity = f"{study}-{figure.replace('.', '_')}"
    begin = document.index(f'id="figure-{identity}"')
    caption = document.rindex("<figcaption><b>", 0, begin)
    title = re.match(r"<figcaption><b>(.*?)</b>", document[caption:])[1]
    body = document[begin : document.index("<details", begin)]
    # A plot, and the heading before it if the figure has several.
    plots = re.findall(r'(?:<p class="caption">([^<]*)</p>)?(<svg class="plot.*?</svg>)', body, re.S)
    sizes = [[int(n) for n in re.search(r'width="(\d+)" height="(\d+)"', plot).groups()] for _, plot in plots]
    width = max(LEAST_WIDTH, *(w + 2 * MARGIN for w, _ in sizes))
    lines = textwrap.wrap(title, width // 9)
    bold = 'font-weight="600"'
    drawing = [text(MARGIN, MARGIN + 12 + LINE * at, 15, line, bold) for at, line in enumerate(lines)]
    parts, y = legend(body, MARGIN + LINE * len(lines) + 12, width)
    drawing.append(parts)
    y += 8
    for (heading, plot), (_, height) in zip(plots, sizes):
        if heading:
            drawing.append(text(MARGIN, y + 14, 13, heading, bold))
            y += LINE
        # Inline styles fit the report's page only.
        plot = re.sub(r"<style>.*?</style>", "", plot, flags=re.S)
        plot = re.sub(r' style="background[^"]*"', ' style="font-size: 12px"', plot, count=1)
        drawing.append(plot.replace("<svg ", f'<svg x="{MARGIN}" y="{y}" overflow="visible" color="var(--ink)" ', 1))
        y += height + 6
    end = document.index("</figure>", begin)
    verdicts = re.search(r"<summary>(\d+ claims? on this figure: .*?)</summary>", document[begin:end])
    if verdicts:
        drawing.append(text(MARGIN, y + 14, 13, verdicts[1], bold))
        y += LINE
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + MARGIN}" viewBox="0 0 {width} {y + MARGIN}">'
        f'<rect width="100%" height="100%" fill="var(--paper)"/>{"".join(drawing)}</svg>\n'
    )
    values = colours()
    return re.sub(r"var\((--[\w-]+)\)", lambda found: values[found[1]], svg).replace("&nbsp;", "&#160;")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("store")
    arguments.add_argument("--farlink", default=ROOT / "target/release/farlink")
    arguments.add_argument("--study", choices=FIGURES, action="append", help="only this one; may be repeated")
    given = arguments.parse_args()
    for study in given.study or FIGURES:
        with tempfile.TemporaryDirectory() as directory:
            page = pathlib.Path(directory) / "figures.html"
            command = [given.farlink, "study", "report", study, "--store", given.store, "--html", page]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            svg = picture(drawn(page), study, FIGURES[study])
        out = ROOT / f"docs/figures/{study}.svg"
        out.write_text(svg)
        print(f"wrote {out.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
