"""Loads pages over HTTP/3 from several senders, emulated and simulated, and writes a table of what each took.

The receiver is farlink's loader everywhere, with a device that costs nothing. Senders: quic-go, and quinn as farlink has it in its two arms and
set as quic-go is (NewReno, 32 packets at first). What was measured is appended to loads.jsonl and not measured again.
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FARLINK = "target/debug/farlink"
LOAD_PAGE = "target/debug/examples/load_page"
SERVE_PAGE = "target/debug/examples/serve_page"
QUIC_GO = "target/interop/quic-go-peer"
ASSETS = "crates/tls/assets"
ADDRESS = "10.0.0.2:8443"

PAGES = [("1 MB", "synthetic:1x1MB"), ("10 MB", "synthetic:1x10MB"), ("99 x 10 KB", "synthetic:99x10KB"), ("100 x 10 KB", "synthetic:100x10KB")]
# With random loss 10 MB take 40 s and tell nothing new.
SHORT = [page for page in PAGES if page[0] != "10 MB"]

# Name, network, what is loaded, emulated and simulated loads of each cell.
LINKS = [
    ("LTE", "lte", PAGES, 5, 1),
    ("4g", "4g", PAGES, 5, 1),
    ("queue of 50 packets", "rtt=100ms,down=10mbit,up=2mbit,queue=50pkt", PAGES, 5, 1),
    ("GEO", "rtt=620ms,down=10mbit,up=2mbit,queue=500pkt", PAGES, 5, 1),
    ("loss of 0.5 %", "rtt=100ms,down=10mbit,up=2mbit,queue=100pkt,loss=0.5%", SHORT, 21, 101),
]

# Sender, and how farlink simulates it.
SENDERS = {
    "quic-go": None,
    "h3-as-quic-go": ["--protocol", "h3-deployed", "--quic", "cc=newreno,iw=34"],
    "h3-deployed": ["--protocol", "h3-deployed"],
    "h3-matched": ["--protocol", "h3-matched"],
}
ATTEMPTS = 8


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed:\n{done.stderr}")
    return done


def server(sender, page, work):
    if sender != "quic-go":
        return f"{SERVE_PAGE} {page} {ADDRESS} tls13 {sender}"
    sizes = work / "sizes"
    sizes.write_text(run([LOAD_PAGE, page, "list"]).stdout)
    return f"{QUIC_GO} page {ASSETS}/rsa-chain.pem {ASSETS}/rsa-key.pem {sizes} {ADDRESS}"


def emulate(network, sender, page, seed):
    """Seconds to the load event; a load whose emulator was late does not count."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        log = work / "log.json"
        shell = [FARLINK, "shell", "--network", network, "--seed", str(seed), "--log", str(log)]
        command = [*shell, "--server", server(sender, page, work), "--", LOAD_PAGE, page, ADDRESS, "tls13", "h3"]
        for _ in range(ATTEMPTS):
            said = run(command).stdout
            seconds, failed = re.search(r"load event ([\d.]+) s.*\((\d+) failed\)", said).groups()
            if failed != "0":
                sys.exit(f"{sender} over {network}: {said}")
            if json.loads(log.read_text())["valid"]:
                return float(seconds)
        sys.exit(f"{sender} over {network}: late in {ATTEMPTS} attempts; run it again while the machine has less to do")


def simulate(network, sender, page, count):
    common = [FARLINK, "load", page, "--network", network, "--device", "zero", "-n", str(count), "--json"]
    noise = [] if count > 1 else ["--no-noise"]
    said = run([*common, *noise, *SENDERS[sender]]).stdout
    return [json.loads(line)["plt_ms"] / 1e3 for line in said.splitlines()]


class Loads:
    """What was measured: seconds by world, link, page and sender."""

    def __init__(self, path):
        self.path = path
        self.all = {}
        if path.exists():
            for line in path.read_text().splitlines():
                *key, seconds = json.loads(line)
                self.all.setdefault(tuple(key), []).append(seconds)

    def of(self, *key):
        return self.all.get(key, [])

    def add(self, key, seconds):
        with self.path.open("a") as out:
            out.write(json.dumps([*key, seconds]) + "\n")
        self.all.setdefault(key, []).append(seconds)


def measure(loads):
    for link, network, pages, emulated, simulated in LINKS:
        for _, page in pages:
            # In turns, so that all senders meet the same machine.
            for seed in range(1, emulated + 1):
                for sender in SENDERS:
                    key = ("emu", link, page, sender)
                    if len(loads.of(*key)) < seed:
                        loads.add(key, emulate(network, sender, page, seed))
            for sender, way in SENDERS.items():
                key = ("sim", link, page, sender)
                if way and not loads.of(*key):
                    for seconds in simulate(network, sender, page, simulated):
                        loads.add(key, seconds)
            print(f"{link}, {page}: done", flush=True)


def table(loads):
    heads = ["link", "page", "quic-go"]
    for sender in SENDERS:
        if sender != "quic-go":
            heads += [f"{sender}", "of quic-go", "simulated", "of emulated"]
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for link, _, pages, *_ in LINKS:
        for name, page in pages:
            median = lambda world, sender: statistics.median(loads.of(world, link, page, sender))
            base = median("emu", "quic-go")
            row = [link, name, f"{base:.3f} s"]
            for sender in SENDERS:
                if sender == "quic-go":
                    continue
                emulated, simulated = median("emu", sender), median("sim", sender)
                row += [f"{emulated:.3f} s", f"{emulated / base:.2f}", f"{simulated:.3f} s", f"{simulated / emulated:.3f}"]
            yield f"| {' | '.join(row)} |"


def main():
    out = Path(sys.argv[1])
    loads = Loads(out / "loads.jsonl")
    measure(loads)
    text = "\n".join(table(loads)) + "\n"
    (out / "table.md").write_text(text)
    print(text)


main()
