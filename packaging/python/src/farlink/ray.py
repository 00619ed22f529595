"""Experiments over a Ray cluster: each task runs a shard, and the driver merges the parts as they arrive.

A journey depends on the plan alone, so a task that is lost with its worker is simply run again, and the merged run has the
digest of a run on one machine. Workers need the same farlink, and the experiment's pages at the same paths.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional, Union

import ray as _ray

from . import _native
from ._experiment import Experiment
from ._native import FarlinkError
from ._program import program
from ._progress import Progress, shown, warn
from ._result import Result

ray: Any = _ray

_JOURNEYS_A_SHARD = 500
"""Enough that a task's own cost, some hundredths of a second, is small beside its work."""

_Part = tuple[Union[bytes, str], int]
"""A shard's store, as bytes or as the path of a file, and the number of its journeys that failed."""


def run(
    experiment: Experiment,
    store: Union[str, os.PathLike[str]],
    *,
    shards: Optional[int] = None,
    parts: Union[None, str, os.PathLike[str]] = None,
    in_flight: Optional[int] = None,
    cpus: int = 1,
    retries: int = 3,
    progress: Progress = None,
) -> Result:
    """Runs an experiment over the cluster that Ray is connected to, or a local one.

    Args:
        experiment: the experiment; one with `until` cannot be sharded.
        store: file of results on the driver. Journeys that it holds are not run again: after an interruption the same call
            goes on.
        shards: number of tasks. By default of some 500 journeys each, and at least one per processor.
        parts: a directory that all workers share. Parts are then files there, which outlive the driver; without it they
            travel as bytes of the tasks' results.
        in_flight: most tasks submitted at a time, which bounds the memory of results that wait to be merged; by default
            twice the processors of the cluster.
        cpus: processors, and journeys at a time, of a task.
        retries: times that a task is run again whose worker is lost.
        progress: as for `farlink.load`; it advances with each merged shard.

    Raises:
        FarlinkError: the experiment or the store is refused, or a worker has other pages or another farlink.
        KeyboardInterrupt: Ctrl-C. What was merged is kept.
    """
    if experiment.has_stop_rule:
        raise FarlinkError(
            "a stop rule looks at the loads of all shards together: give `repetitions`"
        )
    if not ray.is_initialized():
        ray.init()
    processors = max(1, int(ray.cluster_resources().get("CPU", 1)) // cpus)
    of = shards or _shards(experiment.journeys, processors)
    driver = _Driver(experiment, Path(store), of, parts)
    warn(experiment._plan)
    with shown(progress, experiment.name) as callback:
        task = ray.remote(num_cpus=cpus, max_retries=retries)(_shard)
        results = driver.results(task, in_flight or 2 * processors, cpus)
        failed = 0
        for part, failures in results:
            merged = driver.merge(part)
            failed += failures
            if callback is not None:
                callback(*merged.journeys, failed)
    # Nothing left to do is a run of its own: it returns what the store holds.
    return experiment.run(store=store, progress=False)


def _shards(journeys: int, processors: int) -> int:
    return min(journeys, max(processors, journeys // _JOURNEYS_A_SHARD))


def _shard(
    experiment: Experiment, digest: str, shard: str, cpus: int, keep: Optional[str]
) -> _Part:
    """The task: runs a shard into a store of its own."""
    if experiment.digest != digest:
        raise FarlinkError(
            "this worker has another farlink, or other contents of the experiment's pages"
        )
    failed = 0

    def count(done: int, total: int, failures: int) -> None:
        nonlocal failed
        failed = failures

    # The store is on the worker's own disk: SQLite's log does not work over networks.
    with tempfile.TemporaryDirectory(prefix="farlink-shard-") as folder:
        path = Path(folder, "part.sqlite")
        experiment.run(store=path, shard=shard, workers=cpus, progress=count)
        part = path.read_bytes()
    if keep is None:
        return part, failed
    partial = Path(f"{keep}.partial-{os.uname().nodename}-{os.getpid()}")
    partial.write_bytes(part)
    partial.replace(keep)
    return keep, failed


class _Driver:
    """The driver's side: what is left to do, and the merged store."""

    def __init__(
        self,
        experiment: Experiment,
        store: Path,
        of: int,
        parts: Union[None, str, os.PathLike[str]],
    ) -> None:
        self._experiment = experiment
        self._digest = experiment.digest
        self._store = store
        self._of = of
        self._parts = None if parts is None else Path(parts)
        if self._parts is not None:
            self._parts.mkdir(parents=True, exist_ok=True)

    def results(self, task: Any, in_flight: int, cpus: int) -> Iterator[_Part]:
        """The parts in the order of their completion. No more than `in_flight` tasks are submitted at a time."""
        left = iter(self._experiment._plan.shards_left(self._of, self._store))
        pending: list[Any] = []
        experiment = ray.put(self._experiment)
        try:
            while True:
                while len(pending) < in_flight and (number := next(left, None)) is not None:
                    keep = self._file(number)
                    if keep is not None and keep.exists():
                        yield str(keep), 0
                        continue
                    path = None if keep is None else str(keep.absolute())
                    shard = f"{number}/{self._of}"
                    pending.append(task.remote(experiment, self._digest, shard, cpus, path))
                if not pending:
                    return
                (ready,), pending = ray.wait(pending, num_returns=1)
                yield _value(ready)
        finally:
            for reference in pending:
                ray.cancel(reference)

    def merge(self, part: Union[bytes, str]) -> _native.Run:
        """Adds a part to the store."""
        if isinstance(part, str):
            return _native.merge(self._store, [part], program=program())
        with tempfile.TemporaryDirectory(prefix="farlink-part-") as folder:
            path = Path(folder, "part.sqlite")
            path.write_bytes(part)
            return _native.merge(self._store, [path], program=program())

    def _file(self, number: int) -> Optional[Path]:
        if self._parts is None:
            return None
        return self._parts / f"{self._digest[:16]}-{number}-of-{self._of}.sqlite"


def _value(reference: Any) -> _Part:
    """A task's result; an error of farlink's is raised as such."""
    try:
        part: _Part = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, FarlinkError):
            raise error.cause from None
        raise
    return part
