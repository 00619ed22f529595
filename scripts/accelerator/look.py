"""Loads a page in Chromium, inside `farlink shell --replay`, and looks at what came: look.py CHROMIUM URL PICTURE prints JSON."""

import json
import os
import sys

from playwright.sync_api import sync_playwright

chromium, url, picture = sys.argv[1:]
# Chromium calls home in spite of every flag of Playwright's.
HOMES = "clients2.google.com;update.googleapis.com;optimizationguide-pa.googleapis.com;content-autofill.googleapis.com;start.duckduckgo.com;accounts.google.com"
arguments = [f"--ignore-certificate-errors-spki-list={os.environ['FARLINK_REPLAY_KEY']}"]
if os.environ.get("FARLINK_REPLAY_PROXY"):
    arguments += [f"--proxy-server={os.environ['https_proxy']}", f"--proxy-bypass-list={HOMES}"]
else:
    arguments += ["--no-proxy-server"]
arguments += ["--host-resolver-rules=" + ",".join(f"MAP {home} ~NOTFOUND" for home in HOMES.split(";"))]
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.on("response", lambda response: response.status >= 400 and failed.append(response.url))
    page.goto(url, wait_until="load", timeout=120_000)
    seen = page.evaluate("""async () => {
      await document.fonts.ready;
      const timing = performance.getEntriesByType('navigation')[0];
      const paint = performance.getEntriesByName('first-contentful-paint')[0];
      return {load: timing.loadEventEnd || timing.loadEventStart, render: paint?.startTime};
    }""")
    page.wait_for_load_state("networkidle", timeout=120_000)
    page.screenshot(path=picture)
    seen |= page.evaluate("""() => ({
      document: document.documentElement.outerHTML,
      broken: [...document.images].filter(it => it.complete && !it.naturalWidth).map(it => it.src),
    })""")
    print(json.dumps(seen | {"failed": failed}))
    browser.close()
