"""Experiments over a local Ray cluster whose workers are killed."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SMALL

import farlink

ray = pytest.importorskip("ray")

EXPERIMENT = farlink.Experiment(SMALL, repetitions=300, name="over ray", keep="visits")
"""1,200 journeys."""


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Four worker processes."""
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def digest() -> str:
    return EXPERIMENT.run().digest or ""


def busy_workers() -> list[int]:
    """Processes of this process's cluster that run a shard."""
    parents: dict[int, int] = {}
    busy = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(") ")[2].split()[1]
            )
            title = (folder / "cmdline").read_bytes().split(b"\0")[0]
        except OSError:
            continue
        if title.startswith(b"ray::_shard"):
            busy.append(int(folder.name))

    def is_ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and is_ours(parents[pid]))

    return [pid for pid in busy if is_ours(pid)]


def test_killed_workers_change_nothing(digest: str, tmp_path: Path) -> None:
    from farlink.ray import run

    killed: list[int] = []
    told: list[tuple[int, int, int]] = []

    def kill_two(done: int, total: int, failed: int) -> None:
        told.append((done, total, failed))
        for pid in busy_workers():
            if len(killed) < 2 and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    result = run(EXPERIMENT, tmp_path / "ray.sqlite", shards=24, progress=kill_two)
    assert len(killed) == 2, "no worker was killed, so that nothing was tested"
    assert (result.state, result.digest) == ("complete", digest)
    assert told[-1] == (1200, 1200, 0) and len(told) == 24


def test_an_interrupted_run_goes_on(digest: str, tmp_path: Path) -> None:
    from farlink.ray import run

    def stop(done: int, total: int, failed: int) -> None:
        if done >= 300:
            raise KeyboardInterrupt

    store = tmp_path / "ray.sqlite"
    with pytest.raises(KeyboardInterrupt):
        run(EXPERIMENT, store, shards=24, in_flight=4, progress=stop)
    kept = farlink.open(store)
    assert kept.state == "interrupted" and len(kept.table()) >= 300
    begun: list[int] = []
    result = run(EXPERIMENT, store, shards=24, progress=lambda done, *_: begun.append(done))
    assert begun[0] > 300 and len(begun) < 24, "finished shards were run again"
    assert result.digest == digest


def test_parts_may_be_files(digest: str, tmp_path: Path) -> None:
    from farlink.ray import run

    parts = tmp_path / "parts"
    result = run(EXPERIMENT, tmp_path / "one.sqlite", shards=6, parts=parts)
    assert result.digest == digest
    assert len(list(parts.iterdir())) == 6
    # Another driver, whose store is gone, finds them.
    merged: list[int] = []
    again = run(
        EXPERIMENT,
        tmp_path / "two.sqlite",
        shards=6,
        parts=parts,
        progress=lambda *now: merged.append(now[0]),
    )
    assert again.digest == digest and len(merged) == 6


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of a bucket of an S3 server, which is empty."""
    server = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threaded = server.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    threaded.start()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_bucket(Bucket="results")
    yield f"s3://key:secret@results/crawl?scheme=http&endpoint_override=127.0.0.1:{port}&region=us-east-1"
    threaded.stop()


def test_tables_are_exported_to_object_storage(bucket: str) -> None:
    import pyarrow.compute
    import pyarrow.fs
    import pyarrow.parquet

    from farlink.ray import export

    told: list[int] = []
    files = export(
        EXPERIMENT,
        bucket,
        tables=["visits", "journeys"],
        shards=6,
        progress=lambda done, *_: told.append(done),
    )
    assert len(files) == 12 and len(told) == 6 and told[-1] == EXPERIMENT.journeys
    filesystem, path = pyarrow.fs.FileSystem.from_uri(bucket)
    names = filesystem.get_file_info(pyarrow.fs.FileSelector(f"{path}/visits"))
    assert len(names) == 6, "nothing half-written is left"
    exported = pyarrow.parquet.read_table(f"{path}/visits", filesystem=filesystem)
    whole = EXPERIMENT.run().to_arrow()
    for column in ("journey", "plt_ns", "floor_graph_ns", "seed"):
        a, b = (it.sort_by("journey")[column].combine_chunks() for it in (exported, whole))
        assert a.equals(b), column


def test_an_interrupted_export_goes_on(tmp_path: Path) -> None:
    from farlink.ray import export

    def stop(done: int, total: int, failed: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(EXPERIMENT, tmp_path, shards=12, in_flight=2, progress=stop)
    kept = len(list((tmp_path / "visits").glob("*.parquet")))
    assert 1 <= kept < 12
    told: list[int] = []
    files = export(EXPERIMENT, tmp_path, shards=12, progress=lambda done, *_: told.append(done))
    assert all(Path(file).exists() for file in files) and len(files) == 12
    assert len(told) < 12 and told[-1] == EXPERIMENT.journeys, "finished shards were run again"


def test_exports_are_refused_by_name(tmp_path: Path) -> None:
    from farlink.ray import export

    with pytest.raises(farlink.FarlinkError, match="no table visit; tables are .*visits"):
        export(EXPERIMENT, tmp_path, tables=["visit"])
    with pytest.raises(farlink.FarlinkError, match="nowhere://a/b"):
        export(EXPERIMENT, "nowhere://a/b")


def test_refusals_come_back_as_they_are(tmp_path: Path) -> None:
    from farlink.ray import run

    with pytest.raises(farlink.FarlinkError, match="stop rule"):
        run(farlink.Experiment(SMALL, until="5%"), tmp_path / "s.sqlite")
    page = tmp_path / "page.json"
    farlink.Page("https://a.example/", "1KB").save(page)
    experiment = farlink.Experiment({**SMALL, "page": {"name": str(page)}})
    farlink.Page("https://a.example/", "2KB").save(page)
    with pytest.raises(farlink.FarlinkError, match="other contents"):
        run(experiment, tmp_path / "t.sqlite")
