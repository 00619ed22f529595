"""Which way of carrying a web page over a slow, far or lossy network is fastest, by how much, and why?

`load` simulates loads of a page, `Experiment` a whole grid from a file, and both return a `Result` whose tables pandas,
Polars, DuckDB and pyarrow read without a copy. `emulated_network` puts a browser, or any program, behind a network in
real time. Times in tables are nanoseconds (`_ns`), sizes bytes, rates bits per second.
"""

from __future__ import annotations

from ._experiment import Experiment
from ._load import load
from ._native import VERSION as __version__
from ._native import FarlinkError, Table
from ._network import Network
from ._page import Object, Page
from ._program import program
from ._result import Result, merge, open
from ._settings import Setting, settings
from .emulation import EmulatedNetwork, emulated_network

__all__ = [
    "EmulatedNetwork",
    "Experiment",
    "FarlinkError",
    "Network",
    "Object",
    "Page",
    "Result",
    "Setting",
    "Table",
    "__version__",
    "emulated_network",
    "load",
    "merge",
    "open",
    "program",
    "settings",
]
