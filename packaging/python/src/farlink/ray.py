"""Experiments over a Ray cluster: each task runs a shard. The driver merges the parts as they arrive (`run`), or workers write
Parquet to shared or object storage (`export`).

A journey depends on the plan alone, so a task that is lost with its worker is simply run again, and the merged run has the
digest of a run on one machine. Workers need the same farlink, and the experiment's pages at the same paths.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional, TypeVar, Union

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

_Of = TypeVar("_Of")


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
    of, processors = _planned(experiment, shards, cpus)
    driver = _Driver(experiment, Path(store), of, parts)
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


def export(
    experiment: Experiment,
    where: Union[str, os.PathLike[str]],
    *,
    tables: Sequence[str] = ("visits",),
    shards: Optional[int] = None,
    in_flight: Optional[int] = None,
    cpus: int = 1,
    retries: int = 3,
    progress: Progress = None,
) -> list[str]:
    """Runs an experiment over the cluster; the workers write its tables as Parquet. Nothing passes through the driver.

    The files are `WHERE/TABLE/PLAN-SHARD-of-SHARDS.parquet`, which `SELECT * FROM 'WHERE/TABLE/*.parquet'` reads as one table.
    A shard whose files are there is not run again: after an interruption the same call goes on. Needs pyarrow.

    Args:
        experiment: the experiment; one with `until` cannot be sharded.
        where: a directory that all workers share, or a URL that pyarrow can write to: `s3://BUCKET/PATH`, `gs://`, `hdfs://`.
            Workers need the credentials for it.
        tables: names of tables; docs/data-dictionary.md describes them.
        shards: as for `run`. An export goes on with the same number alone.
        in_flight: as for `run`.
        cpus: as for `run`.
        retries: as for `run`.
        progress: as for `farlink.load`; it advances with each shard.

    Returns:
        Paths of all files, in the bucket if it is one.

    Raises:
        FarlinkError: the experiment, a table or `where` is refused, or a worker has other pages or another farlink.
        KeyboardInterrupt: Ctrl-C. What was written is kept.
    """
    unknown = set(tables) - set(_native.table_names())
    if unknown or not tables:
        known = ", ".join(_native.table_names())
        raise FarlinkError(f"no table {', '.join(sorted(unknown)) or 'is named'}; tables are {known}")
    of, processors = _planned(experiment, shards, cpus)
    url = os.fspath(where)
    url = url if "://" in url else os.path.abspath(url)
    digest = experiment.digest
    files = {
        number: [f"{table}/{digest[:16]}-{number}-of-{of}.parquet" for table in tables]
        for number in range(1, of + 1)
    }
    there = _files_of(url, tables)
    left = [number for number, names in files.items() if not there.issuperset(names)]
    journeys_of = experiment._plan.journeys_of_shards(of)
    done = experiment.journeys - sum(journeys_of[number - 1] for number in left)
    task = ray.remote(num_cpus=cpus, max_retries=retries)(_exported)
    shared = ray.put(experiment)

    def submit(number: int) -> Any:
        return task.remote(shared, digest, f"{number}/{of}", cpus, url, dict(zip(tables, files[number])))

    with shown(progress, experiment.name) as callback:
        failed = 0
        for journeys, failures in _in_turn(submit, iter(left), in_flight or 2 * processors):
            done, failed = done + journeys, failed + failures
            if callback is not None:
                callback(done, experiment.journeys, failed)
    _, path = _filesystem(url)
    return [f"{path}/{name}" for names in files.values() for name in names]


def _planned(experiment: Experiment, shards: Optional[int], cpus: int) -> tuple[int, int]:
    """The number of shards, and of tasks that run at a time."""
    if experiment.has_stop_rule:
        raise FarlinkError(
            "a stop rule looks at the loads of all shards together: give `repetitions`"
        )
    if not ray.is_initialized():
        ray.init()
    processors = max(1, int(ray.cluster_resources().get("CPU", 1)) // cpus)
    warn(experiment._plan)
    return shards or _shards(experiment.journeys, processors), processors


def _shards(journeys: int, processors: int) -> int:
    return min(journeys, max(processors, journeys // _JOURNEYS_A_SHARD))


def _in_turn(submit: Callable[[_Of], Any], left: Iterator[_Of], in_flight: int) -> Iterator[Any]:
    """Results in the order of their completion. No more than `in_flight` tasks are submitted at a time."""
    pending: list[Any] = []
    try:
        while True:
            while len(pending) < in_flight and (it := next(left, None)) is not None:
                pending.append(submit(it))
            if not pending:
                return
            (ready,), pending = ray.wait(pending, num_returns=1)
            yield _value(ready)
    finally:
        for reference in pending:
            ray.cancel(reference)


def _shard(
    experiment: Experiment, digest: str, shard: str, cpus: int, keep: Optional[str]
) -> _Part:
    """The task of `run`: runs a shard into a store of its own."""
    # The store is on the worker's own disk: SQLite's log does not work over networks.
    with tempfile.TemporaryDirectory(prefix="farlink-shard-") as folder:
        path = Path(folder, "part.sqlite")
        _, (_, failed) = _run_shard(experiment, digest, shard, cpus, path)
        part = path.read_bytes()
    if keep is None:
        return part, failed
    partial = Path(f"{keep}.{_partial()}")
    partial.write_bytes(part)
    partial.replace(keep)
    return keep, failed


def _exported(
    experiment: Experiment, digest: str, shard: str, cpus: int, url: str, files: dict[str, str]
) -> tuple[int, int]:
    """The task of `export`: runs a shard and writes its tables. Returns the number of its journeys, and of those that failed."""
    with tempfile.TemporaryDirectory(prefix="farlink-shard-") as folder:
        result, counts = _run_shard(experiment, digest, shard, cpus, Path(folder, "part.sqlite"))
        for table, file in files.items():
            _write_parquet(result.to_arrow(table), url, file)
    return counts


def _run_shard(
    experiment: Experiment, digest: str, shard: str, cpus: int, store: Path
) -> tuple[Result, tuple[int, int]]:
    """Runs a shard. Also returns the number of its journeys, and of those that failed."""
    if experiment.digest != digest:
        raise FarlinkError(
            "this worker has another farlink, or other contents of the experiment's pages"
        )
    counts = (0, 0)

    def count(done: int, total: int, failed: int) -> None:
        nonlocal counts
        counts = (done, failed)

    result = experiment.run(store=store, shard=shard, workers=cpus, progress=count)
    return result, counts


def _partial() -> str:
    """End of the name of a file that is being written, which no other worker gives."""
    return f"partial-{os.uname().nodename}-{os.getpid()}"


def _filesystem(url: str) -> tuple[Any, str]:
    """Where a URL or an absolute path leads: a file system of pyarrow's and the path in it."""
    try:
        import pyarrow.fs
    except ImportError:
        raise FarlinkError("Parquet needs pyarrow: pip install farlink[ray]") from None
    try:
        filesystem, path = pyarrow.fs.FileSystem.from_uri(url)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise FarlinkError(f"{url}: {error}") from None
    return filesystem, path


def _files_of(url: str, tables: Sequence[str]) -> set[str]:
    """Files of these tables that are there, relative to the URL. Creates the tables' directories."""
    import pyarrow.fs

    filesystem, path = _filesystem(url)
    there: set[str] = set()
    try:
        for table in tables:
            filesystem.create_dir(f"{path}/{table}", recursive=True)
            for file in filesystem.get_file_info(pyarrow.fs.FileSelector(f"{path}/{table}")):
                there.add(f"{table}/{file.base_name}")
    except OSError as error:
        raise FarlinkError(f"{url}: {error}") from None
    return there


def _write_parquet(table: Any, url: str, file: str) -> None:
    """Writes a table; a file of that name is whole."""
    import pyarrow.parquet

    filesystem, path = _filesystem(url)
    partial = f"{path}/{file}.{_partial()}"
    try:
        pyarrow.parquet.write_table(table, partial, filesystem=filesystem, compression="zstd")
        filesystem.move(partial, f"{path}/{file}")
    except OSError as error:
        raise FarlinkError(f"{url}/{file}: {error}") from None


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
        """The parts in the order of their completion, after those that are files already."""
        left = self._experiment._plan.shards_left(self._of, self._store)
        files = {number: self._file(number) for number in left}
        experiment = ray.put(self._experiment)

        def submit(number: int) -> Any:
            file = files[number]
            path = None if file is None else str(file.absolute())
            return task.remote(experiment, self._digest, f"{number}/{self._of}", cpus, path)

        there = {number for number, file in files.items() if file is not None and file.exists()}
        for number in sorted(there):
            yield str(files[number]), 0
        yield from _in_turn(submit, (it for it in left if it not in there), in_flight)

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
