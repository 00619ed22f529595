"""Loads of a page, their tables and their refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

import farlink


def test_a_grid_of_loads_is_a_row_each() -> None:
    result = farlink.load(
        "synthetic:6x5KB", network=["3g", "4g"], protocol=["h1", "h2"], loads=3, seed=7
    )
    visits = result.table()
    assert len(visits) == 12
    assert set(visits.column("protocol")) == {"h1", "h2"}
    assert set(visits.column("network")) == {"3g", "4g"}
    assert all(isinstance(time, int) and time > 10**8 for time in visits.column("plt_ns"))
    assert result.state == "complete"
    assert len(result.digest or "") == 64


def test_equal_requests_have_equal_digests_whatever_the_workers() -> None:
    one = farlink.load("synthetic:6x5KB", network="3g", loads=3, workers=1)
    two = farlink.load("synthetic:6x5KB", network="3g", loads=3, workers=2)
    other = farlink.load("synthetic:6x5KB", network="3g", loads=3, seed=2)
    assert one.digest == two.digest
    assert one.digest != other.digest


def test_the_answer_names_the_faster_way() -> None:
    result = farlink.load("synthetic:40x5KB", network="rtt=300ms,down=10mbit,up=5mbit", loads=8)
    assert "h2" in result.answer
    assert "faster" in result.answer or "first" in result.answer


def test_settings_have_options_keys_and_numbers() -> None:
    result = farlink.load(
        "synthetic:3x5KB",
        network="3g",
        protocol="h2",
        loads=1,
        initial_window=[3, 10],
        network__rtt=["100ms", "600ms"],
        noise=False,
    )
    visits = result.table()
    assert len(visits) == 4
    assert set(visits.column("initial_window_segments")) == {3, 10}
    assert set(visits.column("rtt_ms")) == {100.0, 600.0}
    assert set(visits.column("noise")) == {"off"}


def test_every_setting_is_listed_and_taken_by_its_name() -> None:
    names = [setting.name for setting in farlink.settings()]
    assert len(set(names)) == len(names) > 50
    assert {"tls", "initial_window", "network__rtt", "route"} <= set(names)


def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(farlink.FarlinkError, match="no setting `protocl`") as caught:
        farlink.load("synthetic:1x1KB", protocl="h2")
    assert caught.value.hint == "did you mean `protocol`?"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"network": "3gg"}, "3gg"),
        ({"protocol": "h9"}, "protocol="),
        ({"protocol": ["h2", "h2"]}, "twice"),
        ({"protocol": []}, "no value"),
        ({"network__rtt": "100"}, "network__rtt="),
        ({"loads": 0}, "once or more"),
        ({"seed": 2**63}, "too large"),
        ({"until": "much"}, "until="),
        ({"initial_window": 0}, "1 to 1000"),
        ({"tls": object()}, "expected text"),
        ({"block": "ads.example"}, "no such host"),
    ],
)
def test_refusals_say_why(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(farlink.FarlinkError, match=message):
        farlink.load("synthetic:1x1KB", **arguments)  # type: ignore[arg-type]


def test_until_loads_until_medians_are_certain() -> None:
    result = farlink.load("synthetic:6x5KB", network="3g", protocol="h2", until="20%")
    assert len(result.table()) >= 20
    assert result.state == "complete"


def test_results_are_saved_and_opened(tmp_path: Path) -> None:
    result = farlink.load("synthetic:3x5KB", network="3g", loads=2)
    saved = result.save(tmp_path / "loads.sqlite")
    opened = farlink.open(tmp_path / "loads.sqlite")
    assert saved.digest == opened.digest == result.digest
    assert opened.table().column("plt_ns") == result.table().column("plt_ns")
    result.report(tmp_path / "report.html")
    assert (
        "<svg" in (tmp_path / "report.html").read_text()
        or (tmp_path / "report.html").stat().st_size > 10_000
    )


def test_every_table_is_there() -> None:
    result = farlink.load("synthetic:3x5KB", network="3g", loads=1)
    assert {"runs", "visits", "objects", "connections"} & set(result.tables())
    for name in result.tables():
        table = result.table(name)
        assert table.about
        assert all(len(table.column(column)) == len(table) for column in table.column_names)
    with pytest.raises(farlink.FarlinkError, match="no table"):
        result.table("visit")
