"""Measures a large campaign: FARLINK LOADS KILLS. See large.sh."""

import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

farlink, loads, kills = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
CELLS = 40
SHARDS = 7
EXPERIMENT = f"""format = 1
name = "large"
repetitions = {max(1, loads // CELLS)}
keep = "visits"

[page]
name = ["synthetic:1x5KB", "synthetic:4x5KB"]

[network]
base = ["3g", "4g", "cable", "wifi", "geo"]

[stack]
protocol = ["h1", "h2"]
tls = ["none", "tls13"]
"""
folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("FARLINK_SCRATCH")))
failed = []


def peak_memory(pid):
    """The most memory that a process has had, in MB."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0.0


def run(*arguments, kill_after=None):
    """Runs farlink, or kills it after some seconds; returns its exit code, seconds and peak memory."""
    begin = time.monotonic()
    process = subprocess.Popen([farlink, *map(str, arguments)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = []
    reader = threading.Thread(target=lambda: said.extend(process.stderr))
    reader.start()
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, peak_memory(process.pid))
        if kill_after is not None and time.monotonic() - begin > kill_after:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.02)
    reader.join()
    if process.returncode not in (0, -signal.SIGKILL):
        print("".join(said)[-2000:])
        failed.append(arguments)
    return process.returncode, time.monotonic() - begin, peak


def tell(step, seconds, peak, more=""):
    print(f"{step:28}{seconds:9.1f} s{peak:9.0f} MB  {more}", flush=True)


def row(store):
    with sqlite3.connect(folder / store) as connection:
        return connection.execute("SELECT digest, journeys, (SELECT count(*) FROM stored_journey) FROM run").fetchone()


(folder / "large.toml").write_text(EXPERIMENT)
print(f"{CELLS * max(1, loads // CELLS)} loads, {os.cpu_count()} processors, {farlink}")
_, seconds, peak = run("run", "large.toml", "--plan")
tell("plan", seconds, peak)

_, plain, peak = run("run", "large.toml", "--store", "plain.sqlite")
digest, journeys, stored = row("plain.sqlite")
size = sum(path.stat().st_size for path in folder.glob("plain.sqlite*"))
tell("run", plain, peak, f"{journeys / plain:.0f} loads/s, {size / journeys:.0f} bytes a load, digest {digest[:16]}")

for format in ("parquet", "csv"):
    _, seconds, peak = run("export", "--store", "plain.sqlite", f"--{format}", f"visits.{format}")
    size = (folder / f"visits.{format}").stat().st_size
    tell(f"export --{format}", seconds, peak, f"{size / journeys:.0f} bytes a load")

random.seed(1)
total, highest, killed = 0.0, 0.0, 0
while killed < kills:
    code, seconds, peak = run("run", "large.toml", "--store", "killed.sqlite", kill_after=random.uniform(0.2, 1.6 * plain / kills))
    total, highest = total + seconds, max(highest, peak)
    killed += code == -signal.SIGKILL
    if code == 0:
        break
_, seconds, peak = run("run", "large.toml", "--store", "killed.sqlite")
tell(f"run, killed {killed} times", total + seconds, max(highest, peak), "same digest" if row("killed.sqlite")[0] == digest else "OTHER DIGEST")

total, highest = 0.0, 0.0
for shard in range(1, SHARDS + 1):
    _, seconds, peak = run("run", "large.toml", "--shard", f"{shard}/{SHARDS}", "--store", f"part-{shard}.sqlite")
    total, highest = total + seconds, max(highest, peak)
tell(f"{SHARDS} shards", total, highest, f"{100 * (total / plain - 1):+.1f} % of the plain run")
parts = [f"part-{shard}.sqlite" for shard in random.sample(range(1, SHARDS + 1), SHARDS)]
_, seconds, peak = run("merge", *parts, "--into", "merged.sqlite")
tell("merge", seconds, peak, "same digest" if row("merged.sqlite")[0] == digest else "OTHER DIGEST")

same = digest is not None and all(row(store)[0] == digest for store in ("killed.sqlite", "merged.sqlite"))
shutil.rmtree(folder)
sys.exit(0 if same and not failed else 1)
