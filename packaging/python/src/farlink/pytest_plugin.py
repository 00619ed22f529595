"""Fixtures for pytest, there wherever the package is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .emulation import EmulatedNetwork


@pytest.fixture
def emulated_network() -> Iterator[Callable[..., EmulatedNetwork]]:
    """Makes emulated networks that last as long as the test: `farlink.emulated_network` with its arguments.

    A test that passes over a network that was not emulated faithfully is an error in its teardown, as its times say nothing.
    """
    # Imported here, so that pytest starts as fast without such tests.
    from .emulation import emulated_network as emulated

    with ExitStack() as stack:
        made: list[EmulatedNetwork] = []

        def make(*arguments: object, **options: object) -> EmulatedNetwork:
            network = stack.enter_context(emulated(*arguments, **options))  # type: ignore[arg-type]
            made.append(network)
            return network

        yield make
        for network in made:
            network.check()
