"""Experiments: grids of scenarios from a file, a text or a dictionary."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Optional, Union

from . import _native, _toml
from ._native import FarlinkError
from ._program import program
from ._progress import Progress, shown, warn
from ._result import Result

Source = Union[str, os.PathLike[str], Mapping[str, object]]


class Experiment:
    """A checked experiment.

    Args:
        source: path of an experiment file (docs/experiment.md), its text, or a dictionary of its keys. Text is told from a
            path by a line break or `=` in it.
        overrides: keys set anew: `repetitions=50`, `network__rtt=["100ms", "600ms"]`, `protocol="h2"`. Two underscores
            stand for a dot.

    Raises:
        FarlinkError: the experiment is refused. The message shows the line.
    """

    def __init__(self, source: Source, /, **overrides: object) -> None:
        name, text = _read(source)
        values = [(key, _toml.value(key, it)) for key, it in overrides.items()]
        self._plan = _native.Plan.of_experiment(
            text, name=name, overrides=values, program=program()
        )

    def __reduce__(self) -> tuple[object, ...]:
        return Experiment, (self.text,)

    def __repr__(self) -> str:
        return f"<Experiment {self.name!r}: {self.scenarios} scenarios, {self.journeys} journeys>"

    @property
    def name(self) -> str:
        """Its name."""
        return self._plan.name

    @property
    def text(self) -> str:
        """Its file as it is run, with included files and overrides."""
        return self._plan.text

    @property
    def digest(self) -> str:
        """Digest of what it measures: equal digests mean equal results."""
        return self._plan.digest

    @property
    def scenarios(self) -> int:
        """Number of scenarios."""
        return self._plan.scenarios

    @property
    def journeys(self) -> int:
        """Number of journeys: scenarios times repetitions."""
        return self._plan.journeys

    @property
    def has_stop_rule(self) -> bool:
        """True if it is repeated until medians are certain."""
        return self._plan.has_stop_rule

    def run(
        self,
        store: Union[None, str, os.PathLike[str]] = None,
        *,
        workers: Optional[int] = None,
        shard: Optional[str] = None,
        again: bool = False,
        progress: Progress = None,
    ) -> Result:
        """Runs what the store does not hold yet.

        Args:
            store: file of results, created if there is none. Without one, results are in memory until the `Result` is
                gone; `Result.save` keeps them.
            workers: journeys at a time; one per core by default.
            shard: a part of the journeys, `"2/7"`; `farlink.merge` puts the parts together.
            again: run even if the store holds a complete run of this experiment.
            progress: as for `farlink.load`.

        Raises:
            FarlinkError: the store cannot be used.
            KeyboardInterrupt: Ctrl-C. Journeys in progress were finished, and what is in a file's store is kept:
                the same call goes on.
        """
        warn(self._plan)
        with shown(progress, self.name) as callback:
            return Result(
                self._plan.run(
                    store=store, workers=workers, shard=shard, again=again, progress=callback
                )
            )


def _read(source: Source) -> tuple[str, str]:
    """Name and text of an experiment."""
    if isinstance(source, Mapping):
        return "experiment", _toml.document({"format": 1, **source})
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return "experiment", source
    path = Path(source)
    try:
        return str(path), path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FarlinkError(f"cannot read the experiment {path}: {error}") from error
