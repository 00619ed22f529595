"""Assertions on measured times, which fail only for what is certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from . import _native

Times = Sequence[Union[int, float]]


def assert_faster(faster: Times, slower: Times) -> None:
    """Asserts that the first of two ways is certainly faster.

    Times of the same place are compared in pairs: measure both in turn, each at least six times. Certain means that the
    95 % interval of the lead (bootstrap over the pairs) excludes zero.
    """
    verdict, lead, interval, reason = _native.compare(list(faster), list(slower))
    if verdict == "first":
        return
    told = (
        f" (95 % interval {interval[0]:.1%} to {interval[1]:.1%})" if interval else f" ({reason})"
    )
    if verdict == "second":
        raise AssertionError(f"it is slower: the other's median is {lead:.1%} lower{told}")
    raise AssertionError(f"it is not certainly faster: the medians differ by {lead:.1%}{told}")


def assert_within(times: Times, budget: float) -> None:
    """Asserts that the median is not certainly over a budget in the times' unit.

    Of six times and more the lower end of the median's 95 % interval counts, of fewer the median itself.
    """
    median, interval = _native.median_interval(list(times))
    least = interval[0] if interval else median
    if least > budget:
        told = f", 95 % interval {interval[0]:g} to {interval[1]:g}" if interval else ""
        raise AssertionError(f"over the budget of {budget:g}: the median is {median:g}{told}")
