"""Experiments: forms of their source, stores, progress, Ctrl-C, shards."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL

import farlink

TEXT = """format = 1
name = "small"
repetitions = 4

[page]
name = "synthetic:6x5KB"

[network]
base = ["3g", "cable"]

[stack]
protocol = ["h1", "h2"]
"""

LONG = farlink.Experiment(SMALL, repetitions=2_000, name="long")


def test_dictionaries_texts_and_files_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(TEXT)
    digests = {farlink.Experiment(source).digest for source in (SMALL, TEXT, path, str(path))}
    assert len(digests) == 1


def test_dictionaries_hold_objects_and_nested_tables() -> None:
    experiment = farlink.Experiment(
        {
            **SMALL,
            "network": {"base": "3g", "down.loss": [0, "1%"]},
            "linked": [{"client.cpu": [1, 4], "stack.tls": ["tls12", "tls13"]}],
        }
    )
    assert experiment.scenarios == 8


def test_overrides_replace_keys(small: farlink.Experiment) -> None:
    other = farlink.Experiment(SMALL, repetitions=1, network__rtt=["100ms", "600ms"], protocol="h2")
    assert (small.journeys, other.scenarios, other.journeys) == (16, 4, 4)


def test_an_error_shows_the_line() -> None:
    with pytest.raises(farlink.FarlinkError, match="unknown key `rrt`") as caught:
        farlink.Experiment(TEXT.replace("base", "rrt"))
    assert "experiment:9:1" in str(caught.value)
    with pytest.raises(farlink.FarlinkError, match="cannot read the experiment"):
        farlink.Experiment("absent.toml")


def test_a_store_keeps_runs(small: farlink.Experiment, tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite"
    told: list[tuple[int, int, int]] = []
    result = small.run(store=store, progress=lambda *now: told.append(now))
    assert result.store == store
    assert told[-1] == (16, 16, 0)
    again = small.run(store=store)
    assert (again.run, again.digest) == (result.run, result.digest)
    assert small.run(store=store, again=True).run != result.run
    assert small.run().digest == result.digest
    assert farlink.open(store, run=result.run).digest == result.digest
    with pytest.raises(farlink.FarlinkError, match="no run 99"):
        farlink.open(store, run=99)


def test_the_command_line_measures_the_same(small: farlink.Experiment, tmp_path: Path) -> None:
    path, store = tmp_path / "small.toml", tmp_path / "store.sqlite"
    path.write_text(TEXT)
    command = [str(farlink.program()), "run", str(path), "--store", str(store)]
    subprocess.run(command, check=True, capture_output=True)
    assert farlink.open(store).digest == small.run().digest


def test_shards_become_the_whole_run(small: farlink.Experiment, tmp_path: Path) -> None:
    parts = [tmp_path / f"part-{number}.sqlite" for number in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        assert small.run(store=part, shard=f"{number}/3").state == "interrupted"
    merged = farlink.merge(parts, tmp_path / "whole.sqlite")
    assert (merged.state, merged.digest) == ("complete", small.run().digest)
    with pytest.raises(farlink.FarlinkError, match="shard"):
        small.run(shard="4/3")


def test_pickles_are_the_same_experiment(small: farlink.Experiment) -> None:
    assert pickle.loads(pickle.dumps(small)).digest == small.digest


def test_exceptions_of_a_callback_end_the_run(tmp_path: Path) -> None:
    def fail(done: int, total: int, failed: int) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        LONG.run(store=tmp_path / "s.sqlite", progress=fail)


def test_ctrl_c_keeps_what_was_stored(tmp_path: Path) -> None:
    # A shell's background jobs ignore Ctrl-C, and Python then leaves it at that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    store = tmp_path / "long.sqlite"
    endless = farlink.Experiment(SMALL, repetitions=20_000)

    def interrupt(done: int, total: int, failed: int) -> None:
        if done > 0:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        endless.run(store=store, progress=interrupt)
    kept = farlink.open(store)
    assert kept.state == "interrupted"
    assert 0 < len(kept.table()) < endless.journeys


def test_a_store_in_use_is_refused(small: farlink.Experiment, tmp_path: Path) -> None:
    store = tmp_path / "busy.sqlite"
    refusals: list[str] = []

    def try_it(done: int, total: int, failed: int) -> None:
        if not refusals:
            # The same thread stands for another: a store is marked for one run.
            try:
                small.run(store=store)
            except farlink.FarlinkError as error:
                refusals.append(str(error))

    farlink.Experiment(SMALL, repetitions=60).run(store=store, progress=try_it)
    assert "another run is using" in refusals[0]


def test_python_runs_on_while_journeys_are_simulated() -> None:
    code = (
        "import threading, time, farlink\n"
        "ticks = []\n"
        "stop = threading.Event()\n"
        "def tick():\n"
        "    while not stop.wait(0.01): ticks.append(time.monotonic())\n"
        "thread = threading.Thread(target=tick); thread.start()\n"
        "farlink.load('synthetic:60x10KB', network='3g', loads=100, workers=1, progress=False)\n"
        "stop.set(); thread.join()\n"
        "print(max(b - a for a, b in zip(ticks, ticks[1:])))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(run.stdout) < 0.5, "the lock was held"
