"""Table of pages.sh: pages.py FARLINK CHROMIUM FOLDER PICTURES LOADS

It fails unless through the proxy, at the median of the pages, there are 40 % fewer bytes and the first render comes 30 % sooner, and every page has
the same document and nothing broken that is not broken without it.
"""

import base64
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

farlink, chromium, folder, pictures, loads = sys.argv[1:]
network, protocol = os.environ.get("NETWORK", "3g"), os.environ.get("PROTOCOL", "h2")
here = pathlib.Path(__file__).parent
config = os.environ.get("PROXY", str(here / "proxy.toml"))
pictures = pathlib.Path(pictures)
pictures.mkdir(parents=True, exist_ok=True)
WAYS = {
    "direct": [],
    "proxy": ["--proxy", config, "--proxy-cache", "primed"],
}


def look(archive, url, way, picture):
    """One load: what look.py saw, and the bytes that came over the access link."""
    with tempfile.NamedTemporaryFile(suffix=".json") as account:
        command = [farlink, "shell", "--network", network, "--replay", archive, "--replay-protocol", protocol, "--think", "none"]
        command += ["--proxy-rtt", "50ms", "--log", account.name, *WAYS[way], "--", sys.executable, here / "look.py", chromium, url, picture]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"error: {archive}, {way}:\n{done.stderr}")
        links = {link["name"]: link for link in json.load(open(account.name))["links"]}
        return json.loads(done.stdout) | {"bytes": links["down"]["delivered_bytes"]}


def plain(document):
    """A document without what chance and the clock put in it."""
    return re.sub(r"\d{6,}|0\.\d{6,}", "N", document)


def difference(browser, one, other):
    """Mean difference of two pictures, in parts of white."""
    page = browser.new_page()
    urls = ["data:image/png;base64," + base64.b64encode(pathlib.Path(path).read_bytes()).decode() for path in (one, other)]
    found = page.evaluate(
        """async urls => {
          const pixels = await Promise.all(urls.map(async url => {
            const image = new Image();
            image.src = url;
            await image.decode();
            const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
            canvas.drawImage(image, 0, 0);
            return canvas.getImageData(0, 0, image.width, image.height).data;
          }));
          let sum = 0;
          pixels[0].forEach((value, at) => { sum += Math.abs(value - pixels[1][at]); });
          return sum / pixels[0].length / 255;
        }""",
        urls,
    )
    page.close()
    return found


archives = sorted(pathlib.Path(folder).glob("*.wacz"))
if not archives:
    sys.exit(f"error: {folder} has no archives\nhint: scripts/demo-corpus.sh makes some")
print(f"{network}, servers over {protocol}, 50 ms behind it; medians of {loads}\n")
print("| page | KB | proxy | first render, s | proxy | load, s | proxy | same document | pictures differ by |")
print("|---|---|---|---|---|---|---|---|---|")
ratios, wrong = {"bytes": [], "render": [], "load": []}, []
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=chromium)
    for archive in archives:
        listed = subprocess.run([farlink, "archive", "ls", archive], capture_output=True, text=True, check=True).stdout
        url = next(word for word in listed.split() if word.startswith(("http://", "https://")))
        seen = {way: [] for way in WAYS}
        shots = {way: pictures / f"{archive.stem}-{way}.png" for way in WAYS}
        for _ in range(int(loads)):
            for way in WAYS:
                seen[way].append(look(archive, url, way, shots[way]))
        values, left = {}, {}
        for figure in ratios:
            for way in WAYS:
                found = [it[figure] for it in seen[way] if it.get(figure)]
                values[figure, way] = statistics.median(found) if found else None
            ends = [values[figure, way] for way in ("proxy", "direct")]
            left[figure] = ends[0] / ends[1] if all(ends) else None
            ratios[figure] += [left[figure]] if left[figure] else []
        direct, proxy = (seen[way][-1] for way in WAYS)
        same = plain(direct["document"]) == plain(proxy["document"])
        news = {name: sorted(set(proxy[name]) - set(direct[name])) for name in ("broken", "failed")}
        wrong += [f"{archive.stem}: another document"] if not same else []
        wrong += [f"{archive.stem}: {name}: {', '.join(urls)}" for name, urls in news.items() if urls]
        for way in WAYS:
            (pictures / f"{archive.stem}-{way}.html").write_text(seen[way][-1]["document"])
        cells = [archive.stem]
        for figure, by in (("bytes", 1e3), ("render", 1e3), ("load", 1e3)):
            digits = 0 if figure == "bytes" else 2
            shown = [f"{values[figure, way] / by:.{digits}f}" if values[figure, way] else "-" for way in WAYS]
            cells += [shown[0], shown[1] + (f" ({left[figure] - 1:+.0%})" if left[figure] else "")]
        cells += ["yes" if same else "no", f"{difference(browser, *shots.values()):.2%}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    browser.close()
medians = {figure: statistics.median(values) - 1 for figure, values in ratios.items()}
print(f"\nmedians: bytes {medians['bytes']:+.1%}, first render {medians['render']:+.1%}, load {medians['load']:+.1%}")
for sentence in wrong:
    print(f"wrong: {sentence}")
sys.exit(bool(wrong) or medians["bytes"] > -0.4 or medians["render"] > -0.3)
