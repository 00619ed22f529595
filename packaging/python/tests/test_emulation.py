"""Programs and browsers behind an emulated network, as an ordinary user."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import farlink
from farlink.testing import assert_faster, assert_within

pytest_plugins = ["pytester"]


def _can_emulate() -> bool:
    with farlink.emulated_network("rtt=1ms,down=10mbit,up=10mbit") as network:
        return network.run(["true"], capture_output=True).returncode == 0


needs_emulation = pytest.mark.skipif(not _can_emulate(), reason="no emulation on this machine")
needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")

# A shared machine may stand still for a while, which no measurement in real time survives: such a test is run again.
in_real_time = pytest.mark.flaky(reruns=3, reruns_delay=10)

FETCH = """
import sys, time, urllib.request
begin = time.monotonic()
size = len(urllib.request.urlopen(sys.argv[1]).read())
print(size, time.monotonic() - begin)
"""


@needs_emulation
def test_a_program_has_the_network_it_was_given(site: int) -> None:
    with farlink.emulated_network("rtt=200ms,down=1mbit,up=1mbit", ports=[site]) as network:
        command = ["python3", "-c", FETCH, network.url(site)]
        run = network.run(command, check=True, capture_output=True, text=True)
        size, seconds = run.stdout.split()
        assert int(size) > 20_000
        # A handshake, the request, and 20 KB at 125 KB/s.
        assert 0.4 < float(seconds) < 5.0
        (log,) = network.logs()
        assert log["networks"] == ["rtt=200ms,down=1mbit,up=1mbit"]
        with pytest.raises(farlink.FarlinkError, match="not reachable"):
            network.url(1)


@needs_emulation
def test_exit_codes_are_the_programs() -> None:
    with farlink.emulated_network(farlink.Network("3g")) as network:
        assert network.run(["sh", "-c", "exit 7"], stderr=subprocess.DEVNULL).returncode == 7


@needs_emulation
@needs_chromium
def test_a_browser_loads_through_the_network(site: int) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    times: dict[str, float] = {}
    with playwright.sync_playwright() as api:
        for rtt in ("20ms", "400ms"):
            with farlink.emulated_network(
                f"rtt={rtt},down=10mbit,up=5mbit", ports=[site]
            ) as network:
                browser = network.launch(api.chromium)
                page = browser.new_page()
                page.goto(network.url(site, "index.html"), wait_until="load")
                assert page.title() == "A page"
                timing = "performance.getEntriesByType('navigation')[0].responseStart"
                times[rtt] = page.evaluate(timing)
                browser.close()
                (log,) = network.logs()
                assert {link["name"] for link in log["links"]} == {"up", "down"}
    # A round trip for the handshake, which Chromium may begin some milliseconds ahead, and one for the request.
    assert times["400ms"] > 700 > times["20ms"] > 30


@needs_emulation
def test_a_network_that_was_late_is_an_error() -> None:
    with farlink.emulated_network("3g") as network:
        network.run(["true"], capture_output=True)
        network.check()
        log = next(network._folder.glob("log-*.json"))
        log.write_text('{"valid": false, "invalid_because": "packets were delivered late"}')
        with pytest.raises(farlink.FarlinkError, match="delivered late"):
            network.check()


@in_real_time
@needs_emulation
@needs_chromium
def test_emulated_loads_are_results() -> None:
    result = farlink.load(
        "synthetic:3x5KB",
        network="rtt=50ms,down=5mbit,up=1mbit",
        protocol="h2",
        loads=1,
        world="emu",
    )
    assert result.state == "complete"
    assert result.table("journeys").column("failure") == [None]
    assert isinstance(result.table().column("plt_ns")[0], int)


def test_assertions_hold_for_what_is_certain() -> None:
    fast = [1.0, 1.1, 0.9, 1.05, 1.02, 0.97, 1.01]
    slow = [2.0, 2.2, 1.9, 2.1, 2.02, 1.97, 2.05]
    assert_faster(fast, slow)
    with pytest.raises(AssertionError, match="slower"):
        assert_faster(slow, fast)
    with pytest.raises(AssertionError, match="not certainly"):
        assert_faster(fast, [*fast[1:], fast[0]])
    with pytest.raises(farlink.FarlinkError, match="paired"):
        assert_faster(fast, slow[1:])
    assert_within(fast, 1.1)
    assert_within([3.0], 3.0)
    with pytest.raises(AssertionError, match="over the budget of 1.5"):
        assert_within(slow, 1.5)


@needs_emulation
def test_the_plugin_is_there_without_an_import(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_ping(emulated_network):
            network = emulated_network("rtt=10ms,down=10mbit,up=10mbit")
            assert network.run(["true"]).returncode == 0
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
