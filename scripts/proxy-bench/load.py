"""The load: one thread of h2load or wrk on a core of its own, in a closed loop."""

import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass

LOAD_CORE = "0"
# Connections, and requests at once on each.
SHAPES = {"h1": (64, 1), "h2c": (16, 10), "h2": (16, 10), "pipelined": (64, 8)}
PIPELINE = """
init = function(args)
  all = string.rep(wrk.format(), 8)
end
request = function() return all end
"""


class Failed(Exception):
    """Requests failed, so that there is nothing to compare."""


@dataclass
class Result:
    requests: int
    seconds: float
    cpu_seconds: float
    # None where responses are answered in batches: the load generator tells no single one.
    p50_us: float | None
    p99_us: float | None

    def per_cpu_second(self):
        return self.requests / self.cpu_seconds

    def per_second(self):
        return self.requests / self.seconds


def measure(server, protocol, kib, seconds):
    """Loads a server for so long; what it did, and the CPU time of all its threads meanwhile."""
    port = server.port(protocol)
    before = server.cpu_seconds()
    with tempfile.TemporaryDirectory(dir=server.work) as folder:
        if protocol == "pipelined":
            requests, p50, p99 = _wrk(port, kib, seconds, pathlib.Path(folder)), None, None
        else:
            requests, p50, p99 = _h2load(protocol, port, kib, seconds, pathlib.Path(folder))
    return Result(requests, seconds, server.cpu_seconds() - before, p50, p99)


def _run(command):
    done = subprocess.run(["taskset", "-c", LOAD_CORE, *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _h2load(protocol, port, kib, seconds, folder):
    connections, streams = SHAPES[protocol]
    log = folder / "requests"
    command = ["h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-D{seconds}", f"--log-file={log}"]
    scheme = "https" if protocol == "h2" else "http"
    if protocol == "h1":
        command.append("--h1")
    out = _run([*command, f"{scheme}://127.0.0.1:{port}/{kib}"])
    text = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", out)
    codes = re.search(r"status codes: (\d+) 2xx", out)
    if not text or int(text[2]) or int(text[3]) or int(codes[1]) == 0:
        raise Failed(f"h2load on port {port}: {out}")
    times = sorted(int(line.rsplit("\t", 1)[1]) for line in log.read_text().splitlines())
    body = re.search(r"\((\d+)\) data", out)
    if int(body[1]) < int(text[1]) * kib * 1024:
        raise Failed(f"h2load on port {port}: the bodies are short: {out}")
    return int(codes[1]), _rank(times, 0.5), _rank(times, 0.99)


def _rank(times, share):
    return times[min(len(times) - 1, int(share * len(times)))] if times else 0


def _wrk(port, kib, seconds, folder):
    script = folder / "pipeline.lua"
    script.write_text(PIPELINE)
    connections, _ = SHAPES["pipelined"]
    url = f"http://127.0.0.1:{port}/{kib}"
    out = _run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "-s", str(script), url])
    if "Non-2xx" in out or "Socket errors" in out:
        raise Failed(f"wrk on port {port}: {out}")
    return int(re.search(r"(\d+) requests in", out)[1])
