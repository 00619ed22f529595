"""Networks as objects: a profile, settings, or both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional, Union

from . import _native
from ._native import FarlinkError

_Value = Union[str, int, float, bool]


class Network:
    """A network, as docs/networks.md describes it: `Network("3g", rtt="200ms", loss=0.01)`.

    Args:
        base: a profile (`"3g"`), a file (`"ship.toml"`), or a description.
        settings: `rtt="100ms"`, `down="10mbit"`, `up="5mbit"`, `loss=0.01` (a fraction of packets, each direction),
            `queue="64pkt"`, `aqm="fq_codel"`, ... Times and rates have units. Two underscores stand for a dot:
            `down__loss`, `hop__1__rtt`; a dictionary sets several: `down={"loss": 0.01}`.

    Raises:
        FarlinkError: the network is incomplete, or a setting is refused.
    """

    __slots__ = ("_text",)

    def __init__(
        self, base: Optional[str] = None, **settings: Union[_Value, Mapping[str, _Value]]
    ) -> None:
        parts = [] if base is None else [base]
        for name, value in settings.items():
            parts += _settings(name.replace("__", "."), value)
        if not parts:
            raise FarlinkError('a network has a profile or settings: Network("3g")')
        self._text = ",".join(parts)
        _native.check_network(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Network({self._text!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return _native.check_network(self._text) == _native.check_network(other._text)

    def __hash__(self) -> int:
        return hash(_native.check_network(self._text))


def _settings(key: str, value: Union[_Value, Mapping[str, _Value]]) -> list[str]:
    if isinstance(value, Mapping):
        return [text for inner, it in value.items() for text in _settings(f"{key}.{inner}", it)]
    if isinstance(value, bool):
        return [f"{key}={'true' if value else 'false'}"]
    if isinstance(value, float):
        # Without an exponent, which farlink does not read.
        return [f"{key}={value:.12f}".rstrip("0").rstrip(".")]
    return [f"{key}={value}"]
