"""Values of settings as farlink's texts, and the list of all settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from . import _native
from ._native import FarlinkError
from ._network import Network
from ._page import Page


class Setting(NamedTuple):
    """A setting of a load."""

    name: str
    """Keyword argument of `load` and `Experiment`."""
    key: str
    """Key of an experiment file."""
    default: str
    """Its default as text; empty if there is none."""
    help: str
    """Its meaning."""
    column: str
    """Its column in table `visits`."""


def settings() -> list[Setting]:
    """All settings, in the order of a grid's axes."""
    return [Setting(*row) for row in _native.settings()]


def text_of(name: str, value: object) -> str:
    """A value as farlink's text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, (Network, Page)):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    raise FarlinkError(
        f"{name}: expected text, a number, True or False, a Network, a Page, or a list of them; not {type(value).__name__}"
    )


def values_of(name: str, value: object) -> list[str]:
    """One value or several as farlink's texts."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        return [text_of(name, one) for one in value]
    return [text_of(name, value)]
