"""Results: a run's tables, answer, plots and report."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional, Union

from . import _native
from ._native import FarlinkError, Table
from ._program import program

PathLike = Union[str, os.PathLike[str]]


class Result:
    """A run that was carried out, in a file's store or in memory."""

    def __init__(self, run: _native.Run) -> None:
        self._run = run

    def __repr__(self) -> str:
        done, planned = self._run.journeys
        return f"<Result {self.name!r}: {done} of {planned} journeys, {self.state}>"

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{html.escape(it)}</p>" for it in self._run.answer())
        return f"<div><b>{html.escape(self.name)}</b>{sentences}</div>"

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self._run.name

    @property
    def state(self) -> str:
        """`complete`, `interrupted` or `running`."""
        return self._run.state

    @property
    def digest(self) -> Optional[str]:
        """Digest of all measurements; None before the run is complete. Equal runs have equal digests."""
        return self._run.digest

    @property
    def answer(self) -> str:
        """The sentences that the report begins with: which way is fastest, and by how much."""
        return "\n".join(self._run.answer())

    @property
    def run(self) -> int:
        """Number of the run in its store."""
        return self._run.id

    @property
    def store(self) -> Optional[Path]:
        """The store's file; None if it is in memory."""
        path = self._run.store
        return None if path is None else Path(path)

    def tables(self) -> list[str]:
        """Names of all tables; docs/data-dictionary.md describes them."""
        return _native.table_names()

    def table(self, name: str = "visits") -> Table:
        """A table in Arrow's memory layout, which `pyarrow.table`, `polars.DataFrame`, pandas and DuckDB take as it is.

        Times are in nanoseconds (`plt_ns`), sizes in bytes; a row of `visits` is a load, with a column for each setting.
        """
        return self._run.table(name)

    def to_arrow(self, name: str = "visits") -> Any:
        """The table as a `pyarrow.Table`."""
        import pyarrow

        return pyarrow.table(self.table(name))

    def to_pandas(self, name: str = "visits") -> Any:
        """The table as a `pandas.DataFrame`, by way of pyarrow."""
        return self.to_arrow(name).to_pandas()

    def to_polars(self, name: str = "visits") -> Any:
        """The table as a `polars.DataFrame`."""
        import polars

        return polars.DataFrame(self.table(name))

    def plot_ecdf(self, ax: Optional[Any] = None, *, by: Optional[Sequence[str]] = None) -> Any:
        """Shares of loads by load time in seconds, a curve for each combination of the columns `by`.

        By default these are the settings that vary. Needs matplotlib; returns its `Axes`.
        """
        from . import _plots

        return _plots.ecdf(self.table(), ax, by)

    def plot_medians(self, ax: Optional[Any] = None, *, by: Optional[Sequence[str]] = None) -> Any:
        """Median load times in seconds with their 95 % intervals, a point for each combination of the columns `by`."""
        from . import _plots

        return _plots.medians(self.table(), ax, by)

    def report(self, path: PathLike) -> None:
        """Writes the run's report, one HTML file."""
        text = self._run.report()
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise FarlinkError(f"cannot write {path}: {error.strerror}") from error

    def save(self, store: PathLike) -> Result:
        """Copies the run into a file's store, which is created if there is none."""
        return Result(self._run.save(store))


def open(store: PathLike, run: Optional[int] = None) -> Result:
    """A run of a store, by default the latest."""
    return Result(_native.open(store, program=program(), run=run))


def merge(parts: Sequence[PathLike], into: PathLike) -> Result:
    """Copies all runs of the stores `parts` into another. Shards of one experiment become its whole run."""
    return Result(_native.merge(into, list(parts), program=program()))
