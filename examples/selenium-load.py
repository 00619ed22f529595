"""Loads a page in Chromium with Selenium and prints its load time: selenium-load.py URL"""

import sys

from selenium import webdriver

options = webdriver.ChromeOptions()
options.binary_location = "/usr/bin/chromium"
options.add_argument("--headless=new")
options.add_argument("--no-sandbox")  # needed in containers and as root
driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
try:
    driver.get(sys.argv[1])
    timing = driver.execute_script("return performance.getEntriesByType('navigation')[0].toJSON()")
    print(f"first byte {timing['responseStart']:.0f} ms, load {timing['loadEventStart']:.0f} ms")
finally:
    driver.quit()
