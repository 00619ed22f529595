"""Compares caching proxies that answer from memory: see docs/benchmarks.md.

One worker a server, pinned to a core; the load on another. The servers take turns, so that a machine whose speed drifts is equally
unfair to all: what counts is the ratio to nginx within a round, and its median over the rounds.
"""

import argparse
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import idle
import load
import origin
import servers

ORIGIN_PORT = 9000
CELLS = [(protocol, kib) for kib in origin.KIB for protocol in ("h1", "h2c", "h2")] + [("pipelined", 1)]
TITLES = {"h1": "h1", "h2c": "h2c", "h2": "h2 TLS", "pipelined": "h1 pipelined x8"}
REFERENCE = "nginx"


def main():
    options = parse()
    # However it ends, the servers end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: terminated"))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
    # Memory, not a disk, and a folder that servers of other users can enter.
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="proxy-bench-", dir=memory) as work:
        os.chmod(work, 0o755)
        files = pathlib.Path(work, "files")
        origin.write_files(files)
        origin.start(ORIGIN_PORT)
        wanted = [kind for kind in servers.ALL if not options.only or kind.name in options.only]
        running = start_all(wanted, work, files)
        if not running:
            sys.exit("error: no server could be started")
        try:
            results = measure(running, options)
        finally:
            for server in running:
                server.stop()
        print_rates(results, options)
        if options.idle:
            print_idle([type(server) for server in running], work, files, options.idle)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=1, help="of load a server, protocol and size in a round")
    parser.add_argument("--idle", type=int, default=1000, help="connections at rest; 0 leaves that out")
    parser.add_argument("--only", action="append", help="a server by its name in the table; may be repeated")
    parser.add_argument("--cell", action="append", help="such as h1/1 or h2/20; may be repeated")
    return parser.parse_args()


def start_all(kinds, work, files):
    """Starts what is there, says what is not."""
    running = []
    for number, kind in enumerate(kinds):
        try:
            running.append(start(kind, number, work, files))
            talk(f"{kind.name}: started")
        except (servers.Missing, Unusable) as error:
            talk(f"{kind.name}: LEFT OUT: {error}")
    return running


class Unusable(Exception):
    """A server does not answer as it should."""


def start(kind, number, work, files, cells=CELLS):
    """Starts a server and asks for what is about to be measured, so that its cache holds it."""
    server = kind(number, work, ORIGIN_PORT, files)
    try:
        server.start()
        for protocol, kib in cells:
            if protocol in server.speaks and protocol != "pipelined":
                warm_up(server, protocol, kib)
    except Exception:
        server.stop()
        raise
    return server


def warm_up(server, protocol, kib):
    """Waits until the server answers, from its cache at last."""
    problem = "it did not answer"
    for _ in range(50):
        if server.has_died():
            raise Unusable(f"it ended: {log_of(server)}")
        try:
            return fetch(server, protocol, kib)
        except (load.Failed, OSError) as error:
            problem = error
            time.sleep(0.2)
    raise Unusable(f"{protocol}, {kib} KiB: {problem}; {log_of(server)}")


def fetch(server, protocol, kib):
    scheme = "https" if protocol == "h2" else "http"
    command = ["h2load", "-n20", "-c1", f"{scheme}://127.0.0.1:{server.port(protocol)}/{kib}"]
    if protocol == "h1":
        command.insert(1, "--h1")
    out = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout
    if "20 succeeded" not in out:
        raise load.Failed(out)


def log_of(server):
    texts = [path.read_text(errors="replace") for path in server.work.glob("*log")]
    return " ".join(" ".join(texts).split())[-400:]


def measure(running, options):
    """All rounds: results by server's name and cell."""
    results = {server.name: {} for server in running}
    cells = [cell for cell in CELLS if not options.cell or "{}/{}".format(*cell) in options.cell]
    for number in range(options.rounds):
        for protocol, kib in cells:
            for server in running:
                if protocol not in server.speaks:
                    continue
                result = attempt(server, protocol, kib, options.seconds)
                results[server.name].setdefault((protocol, kib), []).append(result)
        talk(f"round {number + 1} of {options.rounds}")
    return results


def attempt(server, protocol, kib, seconds):
    """A result, or `None` and a word about why there is none in this round."""
    asked = origin.requests()
    try:
        result = load.measure(server, protocol, kib, seconds)
        if origin.requests() == asked:
            return result
        problem = f"the cache asked the origin {origin.requests() - asked} times"
    except load.Failed as error:
        problem = error
    talk(f"{server.name}, {protocol}, {kib} KiB: FAILED: {problem}")
    return None


def print_rates(results, options):
    first = next(iter(results.values()))
    cells = list(first)
    name = REFERENCE if REFERENCE in results else next(iter(results))
    print(f"\nThousand requests per server CPU-second; in brackets the ratio to {name} within the round. Medians of {options.rounds} rounds.\n")
    heading(cells)
    for server, found in results.items():
        print_row(server, cells, lambda cell: rate(found, results[name], cell))
    print("\nThousand requests per second, as long as the load generator keeps up, and its p50 / p99 in ms.\n")
    heading(cells)
    for server, found in results.items():
        print_row(server, cells, lambda cell: latency(found, cell))


def heading(cells):
    print_row("server", cells, lambda cell: f"{TITLES[cell[0]]}, {cell[1]} KiB")
    print("|---" * (len(cells) + 1) + "|")


def print_row(title, cells, show):
    print(f"| {title} | " + " | ".join(show(cell) for cell in cells) + " |")


def rate(found, reference, cell):
    """The median rate, and the median ratio to the reference within the rounds that both went through."""
    done = [result for result in found.get(cell, []) if result]
    pairs = [pair for pair in zip(found.get(cell, []), reference[cell]) if all(pair)]
    if not pairs:
        return "failed" if cell in found else "-"
    rates = statistics.median(result.per_cpu_second() for result in done)
    ratio = statistics.median(ours.per_cpu_second() / theirs.per_cpu_second() for ours, theirs in pairs)
    return f"{rates / 1e3:.1f} (x{ratio:.2f})"


def latency(found, cell):
    done = [result for result in found.get(cell, []) if result]
    if not done:
        return "failed" if cell in found else "-"
    rate = f"{statistics.median(map(load.Result.per_second, done)) / 1e3:.1f}"
    if done[0].p50_us is None:
        return rate
    p50 = statistics.median(result.p50_us for result in done) / 1e3
    p99 = statistics.median(result.p99_us for result in done) / 1e3
    return f"{rate}; {p50:.2f} / {p99:.2f}"


def print_idle(kinds, work, files, count):
    """Memory of connections at rest, of servers newly started."""
    print(f"\nKiB of memory (PSS) for each of {count} connections at rest.\n")
    print("| server | h1 | h2 TLS |\n|---|---|---|")
    for number, kind in enumerate(kinds):
        cells = [idle_cell(kind, number, work, files, protocol, count) for protocol in ("h1", "h2")]
        print(f"| {kind.name} | " + " | ".join(cells) + " |", flush=True)


def idle_cell(kind, number, work, files, protocol, count):
    if protocol not in kind.speaks:
        return "-"
    with tempfile.TemporaryDirectory(dir=work) as folder:
        os.chmod(folder, 0o755)
        server = start(kind, number, folder, files, [(protocol, 1)])
        try:
            few = idle.open_all(server, protocol, 10)
            before = server.pss_kib()
            many = idle.open_all(server, protocol, count)
            time.sleep(1)
            used = server.pss_kib() - before
            for connection in few + many:
                connection.close()
            return f"{used / count:.1f}"
        except OSError as error:
            talk(f"{kind.name}, {protocol}: {error}")
            return "failed"
        finally:
            server.stop()


def talk(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
