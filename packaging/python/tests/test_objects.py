"""Networks and pages as objects."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import farlink


def test_a_network_is_its_text() -> None:
    network = farlink.Network("3g", rtt="200ms", loss=0.01, down__queue="30pkt")
    assert str(network) == "3g,rtt=200ms,loss=0.01,down.queue=30pkt"
    assert network == farlink.Network("3g,rtt=200ms,loss=1%,down.queue=30pkt")
    assert network != farlink.Network("3g")
    assert len({network, farlink.Network(str(network))}) == 1
    assert farlink.Network("3g", down={"loss": 1e-7}) == farlink.Network("3g,down.loss=0.0000001")
    result = farlink.load("synthetic:3x5KB", network=[network, farlink.Network("4g")], loads=1)
    assert len(result.table()) == 4


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ((), {}),
        (("3gg",), {}),
        (("3g",), {"rtt": 200}),
        ((), {"rtt": "200ms"}),
        (("3g",), {"rrt": "1ms"}),
    ],
)
def test_networks_are_checked(arguments: tuple[str, ...], settings: dict[str, str]) -> None:
    with pytest.raises(farlink.FarlinkError):
        farlink.Network(*arguments, **settings)


def shop() -> farlink.Page:
    page = farlink.Page("https://shop.example/?q=1", "30KB", think="20ms")
    sheet = page.add("https://shop.example/a.css", "8KB", kind="Stylesheet", at="1KB")
    script = page.add("https://cdn.example:8443/a.js", 20_000, kind="Script", compute="5ms")
    page.add("https://cdn.example:8443/hero.jpg", "120KB", after=[sheet, script])
    return page


def test_a_page_is_loaded_by_its_graph() -> None:
    page = shop()
    result = farlink.load(page, network="3g", protocol="h2", loads=1, noise=False)
    objects = result.table("objects")
    assert len(objects) == len(page) == 4
    assert sum(size for size in objects.column("body_bytes") if isinstance(size, int)) == 178_000
    page.add("https://shop.example/late.png", "300KB")
    later = farlink.load(page, network="3g", protocol="h2", loads=1, noise=False)
    assert later.table().column("plt_ns")[0] > result.table().column("plt_ns")[0]  # type: ignore[operator]


def test_a_saved_page_is_read_by_every_command(tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    shop().save(path)
    command = [str(farlink.program()), "pages", "show", str(path)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "hero.jpg" in shown and "cdn.example" in shown
    with pytest.raises(farlink.FarlinkError, match="cannot write"):
        shop().save(tmp_path / "absent" / "shop.json")


def test_pages_are_checked() -> None:
    page = shop()
    other = farlink.Page("https://other.example/", 1_000)
    with pytest.raises(farlink.FarlinkError, match="not an object of this page"):
        page.add("https://shop.example/b.png", 1, after=other.document)
    with pytest.raises(farlink.FarlinkError, match="no kind"):
        page.add("https://shop.example/b.png", 1, kind="Picture")
    with pytest.raises(farlink.FarlinkError, match="not the URL"):
        page.add("/b.png", 1)
    with pytest.raises(farlink.FarlinkError, match="5 parsecs"):
        page.add("https://shop.example/b.png", 1, think="5 parsecs")
    assert len(page) == 4
