"""Measures requests per server CPU-second, ours beside HAProxy's, in interleaved rounds.

The machine's speed drifts from minute to minute, so what counts is the ratio within a round and its
median over the rounds. Server CPU is what the kernel's scheduler charged to all of the server's
threads; the load generator's is not counted.
"""

import argparse
import http.server
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
BODY = b"x" * 1024
SERVER_CORE, LOAD_CORE = "0", "1"


class Origin(http.server.BaseHTTPRequestHandler):
    """What HAProxy fills its cache from. It counts, to prove that the cache answered."""

    protocol_version = "HTTP/1.1"
    requests = 0

    def do_GET(self):
        Origin.requests += 1
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Cache-Control", "max-age=3600")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OriginServer(http.server.ThreadingHTTPServer):
    """HAProxy resets its connection when it is stopped, which is no error of the origin's."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def start_origin():
    server = OriginServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def pinned(core, command, **options):
    return subprocess.Popen(["taskset", "-c", core, *command], **options)


def start_ours(port):
    binary = ROOT / "target/dist/examples/fixed_reply"
    command = [str(binary), f"127.0.0.1:{port}"]
    return pinned(SERVER_CORE, command, stdout=subprocess.DEVNULL)


def start_haproxy(port, origin_port):
    environment = dict(os.environ, BENCH_PORT=str(port), BENCH_ORIGIN_PORT=str(origin_port))
    command = ["haproxy", "-db", "-f", str(HERE / "haproxy.cfg")]
    return pinned(SERVER_CORE, command, env=environment)


def fetch(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as response:
        return response.read()


def wait_until_up(port, process):
    for _ in range(100):
        if process.poll() is not None:
            sys.exit(f"error: the server on port {port} exited with {process.returncode}")
        try:
            if fetch(port) != BODY:
                sys.exit(f"error: the server on port {port} sends another body")
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"error: the server on port {port} does not answer")


def cpu_seconds(pid):
    """All threads' time on a CPU, in seconds (Linux, Documentation/scheduler/sched-stats)."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def measure(process, port, seconds, connections):
    """Thousand requests per server CPU-second, and thousand requests per second."""
    load = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"http://127.0.0.1:{port}/"]
    before = cpu_seconds(process.pid)
    out = subprocess.run(
        ["taskset", "-c", LOAD_CORE, *load], capture_output=True, text=True, check=True
    ).stdout
    spent = cpu_seconds(process.pid) - before
    if "Non-2xx" in out or "Socket errors" in out:
        sys.exit(f"error: the load generator reports errors:\n{out}")
    requests = int(re.search(r"(\d+) requests in", out).group(1))
    return requests / spent / 1e3, requests / seconds / 1e3


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--target", type=float, default=120 / 108, help="the least ratio to pass")
    return parser.parse_args()


def run(options):
    origin_port, our_port, haproxy_port = start_origin(), free_port(), free_port()
    ours, haproxy = start_ours(our_port), start_haproxy(haproxy_port, origin_port)
    try:
        wait_until_up(our_port, ours)
        wait_until_up(haproxy_port, haproxy)
        asked = Origin.requests
        ratios, ours_rates, haproxy_rates = [], [], []
        print("thousand requests per server CPU-second (thousand requests per second)")
        for number in range(1, options.rounds + 1):
            us, us_wall = measure(ours, our_port, options.seconds, options.connections)
            them, them_wall = measure(haproxy, haproxy_port, options.seconds, options.connections)
            ours_rates.append(us)
            haproxy_rates.append(them)
            ratios.append(us / them)
            print(
                f"round {number}: farlink {us:6.1f} ({us_wall:5.1f})  "
                f"haproxy {them:6.1f} ({them_wall:5.1f})  ratio {us / them:.3f}",
                flush=True,
            )
        if Origin.requests != asked:
            sys.exit("error: the origin was asked: the cache did not answer")
    finally:
        for process in (ours, haproxy):
            process.terminate()
            process.wait()
    ratio = statistics.median(ratios)
    print(
        f"median:  farlink {statistics.median(ours_rates):6.1f}          "
        f"haproxy {statistics.median(haproxy_rates):6.1f}          ratio {ratio:.3f} "
        f"(from {min(ratios):.3f} to {max(ratios):.3f}; target {options.target:.3f})"
    )
    return 0 if ratio >= options.target else 1


if __name__ == "__main__":
    sys.exit(run(parse()))
