"""Runs of an experiment alone and watched, in turn: PROGRAM CHROMIUM EXPERIMENT PAIRS (scripts/ui/large.sh)."""

import atexit
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import expect, sync_playwright

program, chromium, experiment, pairs = sys.argv[1:]


servers = []


def serve(store):
    served = subprocess.Popen([program, "ui", "--store", store], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    servers.append(served)
    return served, served.stdout.readline().strip()


# None outlives a failure.
atexit.register(lambda: [served.kill() for served in servers if served.poll() is None])


def end(served):
    served.send_signal(signal.SIGINT)
    served.wait(20)


def run(store):
    began = time.monotonic()
    subprocess.run([program, "run", experiment, "--store", store], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def watched(playwright, store):
    """The run's time while a browser shows its answer."""
    served, address = serve(store)
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector("form")
    page.goto(page.url + "#/runs")
    began = time.monotonic()
    running = subprocess.Popen([program, "run", experiment, "--store", store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    page.get_by_role("link", name="12,000 visits").click(timeout=30_000)
    expect(page.locator(".run-answer")).to_be_visible(timeout=60_000)
    assert running.wait() == 0
    took = time.monotonic() - began
    expect(page.locator(".kicker")).to_contain_text("complete", timeout=60_000)
    browser.close()
    end(served)
    return took


def first_views(playwright, store, folder):
    """Seconds until the list of runs, the run's answer, and its report are there."""
    served, address = serve(store)
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector("form")

    def timed(url, selector):
        began = time.monotonic()
        page.goto("about:blank")
        page.goto(url)
        page.wait_for_selector(selector, state="attached")
        return time.monotonic() - began

    base = address.split("?")[0]
    runs = statistics.median(timed(f"{base}#/runs", "tbody tr") for _ in range(5))
    answer = statistics.median(timed(f"{base}#/runs/1", ".run-answer") for _ in range(5))
    report = pathlib.Path(folder) / "report.html"
    subprocess.run([program, "report", "1", "--store", store, "-o", str(report)], check=True)
    opened = statistics.median(timed(f"file://{report}", "#boxes svg") for _ in range(5))
    browser.close()
    end(served)
    return runs, answer, opened


with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
    times = []
    for pair in range(int(pairs)):
        alone, seen = f"{folder}/alone-{pair}.sqlite", f"{folder}/watched-{pair}.sqlite"
        one = (run(alone), watched(playwright, seen)) if pair % 2 == 0 else (watched(playwright, seen), run(alone))[::-1]
        times.append(one)
        print(f"alone {one[0]:.1f} s, watched {one[1]:.1f} s", flush=True)
    slower = statistics.median(seen / alone for alone, seen in times) - 1
    runs, answer, report = first_views(playwright, f"{folder}/alone-0.sqlite", folder)
    print(f"watched runs take {slower:+.1%}; list of runs {runs:.2f} s, answer {answer:.2f} s, report {report:.2f} s")
    sys.exit(slower > 0.05 or runs > 1 or report > 2)
