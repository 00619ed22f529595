#!/usr/bin/env python3
"""Pages loaded over one network, written as HAR, and loaded again over another, against the pages themselves.

    scripts/har/closed_loop.py [--program FILE] [PAGE...]

Prints a row per pair of networks: median and worst error of the load time, apart for loads with a
warning. Pages are the studies' by default; HAR files may follow.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

NETWORKS = {
    "slow": "rtt=60ms,down=3mbit,up=1mbit,queue=100pkt",
    "slow1000": "rtt=60ms,down=3mbit,up=1mbit,queue=1000pkt",
    "far": "rtt=300ms,down=20mbit,up=5mbit,queue=500pkt",
    "fast": "rtt=20ms,down=50mbit,up=10mbit,queue=500pkt",
}
PAGES = ["bth2013", "synthetic:43x7KB@7hosts", "synthetic:100x10KB", "cardaci2015-wikipedia"]
arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("--program", default="target/release/farlink")
arguments.add_argument("--cells", action="store_true", help="print a line per load, too")
arguments.add_argument("pages", nargs="*", default=PAGES)
arguments = arguments.parse_args()


def load_ms(page, network, protocol, *options):
    command = [
        arguments.program, "load", page, "--network", NETWORKS[network], "--protocol", protocol, "--tls", "tls13",
        "-n", "1", "--no-noise", "--device", "zero", "--json", *options,
    ]
    record = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return record["plt_ms"], any("warning: " in note for note in record["notes"])


errors = {}
with tempfile.TemporaryDirectory() as folder:
    for protocol in ("h1", "h2"):
        for number, page in enumerate(arguments.pages):
            truth = {network: load_ms(page, network, protocol)[0] for network in NETWORKS}
            for recorded in NETWORKS:
                har = os.path.join(folder, f"{number}-{protocol}-{recorded}.har")
                load_ms(page, recorded, protocol, "--har", har)
                for network in NETWORKS:
                    loaded, is_warned = load_ms(har, network, protocol)
                    error = abs(loaded / truth[network] - 1)
                    errors.setdefault((recorded, network, protocol), []).append((error, page, is_warned))
                    if arguments.cells:
                        warned = "warned" if is_warned else ""
                        print(f"{recorded} {network} {protocol} {page} {100 * error:.1f} % {warned}", flush=True)


def summary(found):
    if not found:
        return "-"
    worst, page = max(found)
    median = statistics.median(error for error, _ in found)
    return f"{len(found)}: {100 * median:.1f} %, {100 * worst:.0f} % ({os.path.basename(page)})"


def cells(found):
    """Loads without and with a warning."""
    return [summary([(error, page) for error, page, warned in found if warned == is_warned]) for is_warned in (False, True)]


print("| recorded over | loaded over | h1 | h1, warned | h2 | h2, warned |")
print("| --- | --- | --: | --: | --: | --: |")
for recorded in NETWORKS:
    for network in NETWORKS:
        row = [cell for protocol in ("h1", "h2") for cell in cells(errors[recorded, network, protocol])]
        print(f"| {recorded} | {network} | {' | '.join(row)} |")
for name, is_warned in (("told", False), ("warned", True)):
    print(f"{name}: {summary([found[:2] for cell in errors.values() for found in cell if found[2] == is_warned])}")
