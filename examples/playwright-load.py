"""Loads a page in Chromium with Playwright and prints its load time: playwright-load.py URL"""

import sys

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
    page = browser.new_page()
    page.goto(sys.argv[1], wait_until="load")
    timing = page.evaluate("performance.getEntriesByType('navigation')[0].toJSON()")
    print(f"first byte {timing['responseStart']:.0f} ms, load {timing['loadEventStart']:.0f} ms")
    browser.close()
