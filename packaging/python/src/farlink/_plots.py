"""Plots of load times, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from . import _native
from ._native import FarlinkError, Table

_SECOND = 1e9


def ecdf(table: Table, ax: Optional[Any], by: Optional[Sequence[str]]) -> Any:
    """Empirical distributions of the load time."""
    ax = ax if ax is not None else _axes()
    groups = _groups(table, by)
    for label, times in groups.items():
        times.sort()
        shares = [(place + 1) / len(times) for place in range(len(times))]
        ax.step([times[0], *times], [0.0, *shares], where="post", label=label)
    ax.set_xlabel("load time (s)")
    ax.set_ylabel("share of loads")
    ax.set_ylim(0, 1)
    if len(groups) > 1:
        ax.legend()
    return ax


def medians(table: Table, ax: Optional[Any], by: Optional[Sequence[str]]) -> Any:
    """Medians of the load time with their intervals."""
    ax = ax if ax is not None else _axes()
    groups = _groups(table, by)
    for place, times in enumerate(groups.values()):
        median, interval = _native.median_interval(times)
        low, high = interval or (median, median)
        ax.errorbar([median], [place], xerr=[[median - low], [high - median]], fmt="o", capsize=3)
    ax.set_yticks(range(len(groups)), list(groups))
    ax.invert_yaxis()
    ax.set_xlabel("median load time (s)")
    ax.set_xlim(left=0)
    return ax


def _axes() -> Any:
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def _groups(table: Table, by: Optional[Sequence[str]]) -> dict[str, list[float]]:
    """Load times in seconds by the label of their group; visits that did not load are left out."""
    columns = {name: table.column(name) for name in (_varied(table) if by is None else by)}
    groups: dict[str, list[float]] = {}
    for row, time in enumerate(table.column("plt_ns")):
        if isinstance(time, int):
            label = ", ".join(_label(name, values[row]) for name, values in columns.items())
            groups.setdefault(label or "all loads", []).append(time / _SECOND)
    if not groups:
        raise FarlinkError("no visit has loaded, so there is nothing to plot")
    return groups


def _varied(table: Table) -> list[str]:
    """Columns of the settings that vary."""
    columns = [row[4] for row in _native.settings(within=False)]
    return [name for name in columns if len(set(table.column(name))) > 1]


def _label(name: str, value: object) -> str:
    return str(value) if isinstance(value, str) and value else f"{name} {value}"
