"""The whole way through `farlink ui` by keyboard, in Chromium: drop a HAR, run, read the answer, compare, ask for advice.

Usage: check.py PROGRAM CHROMIUM HAR AXE PICTURES

Every view is checked by axe-core, at two widths, light and dark, and must not be wider than the window; pictures go to the folder. A keyboard reaches
everything: nothing here is clicked.
"""

import pathlib
import signal
import subprocess
import sys
import tempfile

from playwright.sync_api import TimeoutError, expect, sync_playwright

program, chromium, har, axe, pictures = sys.argv[1:]
AXE = pathlib.Path(axe).read_text()
WINDOWS = {"light": (1280, "light"), "dark": (1280, "dark"), "narrow": (400, "light"), "narrow-dark": (400, "dark")}
pathlib.Path(pictures).mkdir(parents=True, exist_ok=True)


def tab_to(page, wanted, most=80):
    """Presses Tab until the element that is wanted has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement?.matches(wanted)", wanted):
            return
    raise SystemExit(f"error: no Tab leads to {wanted}")


def choose_file(page):
    """The file chooser that the focused input opens; headless Chromium does not always open it at the first key."""
    for _ in range(5):
        try:
            with page.expect_file_chooser(timeout=5_000) as chooser:
                page.keyboard.press("Space")
            return chooser.value
        except TimeoutError:
            continue
    raise SystemExit("error: no key opens the file chooser")


def press_button(page, name):
    button = page.get_by_role("button", name=name, exact=True)
    expect(button).to_be_enabled(timeout=120_000)
    page.keyboard.press("Home")
    for _ in range(80):
        if button.evaluate("(button) => button === document.activeElement"):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise SystemExit(f"error: no Tab leads to the button {name}")


def check(page, view):
    """Rules, width and pictures of a view."""
    before = page.viewport_size
    for name, (width, scheme) in WINDOWS.items():
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        # `axe-core` checks contrast, names, roles, order of headings and more (WCAG 2.2 and best practices).
        found = page.evaluate("() => axe.run(document)")["violations"]
        told = [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]
        assert not told, f"{view}, {name}:\n" + "\n".join(told)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{view}, {name}: {wide} px wide"
        page.screenshot(path=f"{pictures}/ui-{view}-{name}.png", full_page=True)
    page.set_viewport_size(before)
    print(f"{view}: no violations, {len(WINDOWS)} windows")


def run(page, fill):
    """Fills in the form and starts the run; returns its view's number when it is complete."""
    page.keyboard.press("Control+Home")
    fill()
    tab_to(page, "button.main")
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/runs/*", timeout=60_000)
    expect(page.locator(".kicker")).to_contain_text("complete", timeout=120_000)
    expect(page.locator(".run-answer .answer")).to_be_visible(timeout=60_000)
    return int(page.url.rsplit("/", 1)[1])


def main(desk):
    served = subprocess.Popen([program, "ui", "--store", f"{desk}/store.sqlite"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address = served.stdout.readline().strip()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            # The page's own policy forbids scripts of others, axe's among them.
            page = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True).new_page()
            page.add_init_script(AXE)
            errors = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("request", lambda request: errors.append(request.url) if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")) else None)
            journey(page, address)
            assert not errors, errors
            browser.close()
    finally:
        served.send_signal(signal.SIGINT)
        code = served.wait(20)
    assert code == 0, f"farlink ui ended with {code}"
    foreign_requests(desk)


def journey(page, address):
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert "token" not in page.url
    check(page, "new-run")

    def dropped():
        tab_to(page, "input[type=file]")
        choose_file(page).set_files(har)
        expect(page.get_by_role("status")).to_contain_text(pathlib.Path(har).name, timeout=60_000)

    first = run(page, dropped)
    check(page, "run")

    press_button(page, "Advise")
    expect(page.get_by_text("All steps together")).to_be_visible(timeout=300_000)
    press_button(page, "What if ...?")
    expect(page.get_by_text("What if ...", exact=True)).to_be_visible(timeout=300_000)
    check(page, "advice")

    # The same page without the first network, by the link to a new run.
    tab_to(page, "nav a[href='#/']:not(.brand)")
    page.keyboard.press("Enter")
    expect(page.locator("input[name=page]")).to_be_visible()

    def typed():
        tab_to(page, "input[name=page]")
        page.keyboard.type("synthetic:10x10KB")
        tab_to(page, "input[value='3g']")
        page.keyboard.press("Space")

    run(page, typed)
    tab_to(page, "nav a[href='#/']:not(.brand)")
    page.keyboard.press("Enter")

    def again():
        dropped()
        tab_to(page, "select[name=effort]")
        page.keyboard.type("30")

    third = run(page, again)
    tab_to(page, f"a[href='#/compare/{first}/{third}']")
    page.keyboard.press("Enter")
    # The page of the run, which has two tables, may be there for a moment yet.
    expect(page.get_by_role("table")).to_have_count(1, timeout=60_000)
    check(page, "compare")
    tab_to(page, "nav a[href='#/runs']")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row")).to_have_count(4)
    check(page, "runs")
    report = page.request.get(page.url.split("/#")[0] + f"/api/runs/{first}/report")
    assert report.ok and "<h2>Answer</h2>" in report.text()


def foreign_requests(desk):
    """Without the token, by another name and without the page's own field there is no answer."""
    import http.client

    served = subprocess.Popen([program, "ui", "--store", f"{desk}/store.sqlite"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = served.stdout.readline().strip()
        port, token = int(address.split(":")[2].split("/")[0]), address.split("=")[1]
        cookie = {"Cookie": f"farlink-{port}={token}"}

        def status(method, path, fields):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request(method, path, headers=fields)
            return connection.getresponse().status

        assert status("GET", "/api/choices", cookie) == 200
        assert status("GET", "/api/choices", {}) == 403
        assert status("GET", "/api/choices", {"Cookie": cookie["Cookie"][:-1] + "x"}) == 403
        assert status("GET", "/?token=0", {}) == 403
        assert status("GET", "/api/choices", {**cookie, "Host": f"farlink.example:{port}"}) == 421
        assert status("POST", "/api/runs", cookie) == 403
        print("foreign requests: refused")
    finally:
        served.send_signal(signal.SIGINT)
        served.wait(20)


with tempfile.TemporaryDirectory() as desk:
    main(desk)
