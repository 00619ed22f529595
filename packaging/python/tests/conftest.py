"""What the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import farlink

SMALL = {
    "name": "small",
    "repetitions": 4,
    "page": {"name": "synthetic:6x5KB"},
    "network": {"base": ["3g", "cable"]},
    "stack": {"protocol": ["h1", "h2"]},
}
"""An experiment of 16 journeys."""


@pytest.fixture
def small() -> farlink.Experiment:
    return farlink.Experiment(SMALL)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[int]:
    """Port of a server on 127.0.0.1 with a page of some kilobytes."""
    (tmp_path / "index.html").write_text("<title>A page</title><p>" + "word " * 4_000)

    def handler(*arguments: Any) -> _Quiet:
        return _Quiet(*arguments, directory=str(tmp_path))

    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
