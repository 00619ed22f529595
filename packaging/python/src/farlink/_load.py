"""Loads of one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Optional, Union

from . import _native
from ._network import Network
from ._page import Page
from ._program import program
from ._progress import Progress, shown, warn
from ._result import Result
from ._settings import text_of, values_of

_Network = Union[str, Network]
_Value = Union[str, int, float, bool, Sequence[str], Sequence[int], Sequence[float]]


def load(
    page: Union[str, os.PathLike[str], Page],
    *,
    network: Union[_Network, Sequence[_Network]] = "4g",
    protocol: Union[str, Sequence[str]] = ("h1", "h2"),
    loads: int = 10,
    seed: int = 1,
    until: Optional[str] = None,
    workers: Optional[int] = None,
    progress: Progress = None,
    **settings: _Value,
) -> Result:
    """Loads a page and returns all visits.

    Every setting may be a list; all combinations are then loaded. Loads of one repetition share their random numbers,
    so that arms can be compared in pairs.

    Args:
        page: a page as in docs/pages.md (`"synthetic:100x10KB"`, `"page.har"`), or a `Page`.
        network: a profile (`"3g"`), a description (`"rtt=600ms,down=1mbit,up=128kbit"`), or a `Network`.
        protocol: `"h1"`, `"h2"`, `"h3"`, `"spdy"`, ... (docs/protocols.md).
        loads: loads of each combination.
        seed: source of all randomness.
        until: loads until the interval of each median load time is this narrow: `"5%"`. `loads` is not used then.
        workers: loads at a time; one per core by default.
        progress: True or False to show a bar or none, or a function of (done, total, failed). By default a bar is
            shown if tqdm is installed and there is somebody to see it.
        settings: any other setting by name: `tls="tls12"`, `initial_window=[3, 10]`, `network__rtt="100ms"`;
            `farlink.settings()` lists them.

    Raises:
        FarlinkError: a value is refused. Its message says why, its `hint` what to do.
        KeyboardInterrupt: Ctrl-C ended the loads; none are returned.
    """
    given = [
        ("network", values_of("network", network)),
        ("protocol", values_of("protocol", protocol)),
    ]
    given += [(name, values_of(name, value)) for name, value in settings.items()]
    plan = _native.Plan.of_load(
        text_of("page", page), given, loads=loads, seed=seed, program=program(), until=until
    )
    warn(plan)
    with shown(progress, plan.name) as callback:
        return Result(plan.run(workers=workers, progress=callback))
