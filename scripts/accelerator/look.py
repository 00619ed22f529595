"""Loads a page in Chromium, inside `farlink shell --replay`, and looks at what came: look.py CHROMIUM URL PICTURE prints JSON."""

import json
import os
import sys

from playwright.sync_api import Error, sync_playwright

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
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    # A browser in use: its connection to the proxy is open, and those to the page's hosts are not, with or without a proxy.
    earlier = context.new_page()
    try:
        earlier.goto("http://another.test/", timeout=20_000)
    except Error:
        pass
    earlier.close()
    page = context.new_page()
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.on("response", lambda response: response.status >= 400 and failed.append(response.url))
    page.goto(url, wait_until="load", timeout=120_000)
    seen = page.evaluate("""async () => {
      await document.fonts.ready;
      const timing = performance.getEntriesByType('navigation')[0];
      return {load: timing.loadEventEnd || timing.loadEventStart};
    }""")
    page.wait_for_load_state("networkidle", timeout=120_000)
    # Some pages paint after they have loaded.
    try:
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0", timeout=10_000)
    except Error:
        pass
    page.screenshot(path=picture)
    seen |= page.evaluate("""() => ({
      render: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
      document: document.documentElement.outerHTML,
      broken: [...document.images].filter(it => it.complete && !it.naturalWidth).map(it => it.src),
    })""")
    print(json.dumps(seen | {"failed": failed}))
    browser.close()
