"""Progress of a run: a bar by tqdm if that is installed, or a function of the caller's."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, Union

from . import _native

Callback = Callable[[int, int, int], object]
"""Called with the journeys done, planned and failed, some times a second."""

Progress = Union[None, bool, Callback]


@contextmanager
def shown(progress: Progress, name: str) -> Iterator[Optional[Callback]]:
    """The callback that `progress` stands for."""
    if callable(progress):
        yield progress
        return
    bar_class = _bar_class() if progress or (progress is None and _is_watched()) else None
    if bar_class is None:
        yield None
        return
    bar = bar_class(desc=name[:40], unit=" journeys", leave=False)

    def advance(done: int, total: int, failed: int) -> None:
        bar.total = total
        bar.n = done
        if failed:
            bar.set_postfix(failed=failed, refresh=False)
        bar.refresh()

    try:
        yield advance
    finally:
        bar.close()


def warn(plan: _native.Plan) -> None:
    """Warns of reasons to distrust a page, and of combinations that no world can run."""
    for sentence in [*plan.cautions(), *plan.left_out]:
        warnings.warn(sentence, stacklevel=3)


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _bar_class() -> Optional[Any]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
