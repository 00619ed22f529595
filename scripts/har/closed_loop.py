#!/usr/bin/env python3
"""Pages loaded over one network, written as HAR, and loaded again over another, against the pages themselves.

    scripts/har/closed_loop.py [--program FILE] [PAGE...]

Prints a row per pair of networks: median and worst error of the load time. Pages are the studies' by default; HAR files
may follow.
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
arguments.add_argument("pages", nargs="*", default=PAGES)
arguments = arguments.parse_args()


def load_ms(page, network, protocol, *options):
    command = [
        arguments.program, "load", page, "--network", NETWORKS[network], "--protocol", protocol, "--tls", "tls13",
        "-n", "1", "--no-noise", "--device", "zero", "--json", *options,
    ]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["plt_ms"]


errors = {}
with tempfile.TemporaryDirectory() as folder:
    for protocol in ("h1", "h2"):
        for number, page in enumerate(arguments.pages):
            truth = {network: load_ms(page, network, protocol) for network in NETWORKS}
            for recorded in NETWORKS:
                har = os.path.join(folder, f"{number}-{protocol}-{recorded}.har")
                load_ms(page, recorded, protocol, "--har", har)
                for network in NETWORKS:
                    error = abs(load_ms(har, network, protocol) / truth[network] - 1)
                    errors.setdefault((recorded, network), {}).setdefault(protocol, []).append((error, page))

print("| recorded over | loaded over | h1, median and worst | h2, median and worst |")
print("| --- | --- | --: | --: |")
for (recorded, network), by_protocol in errors.items():
    cells = []
    for found in by_protocol.values():
        worst, page = max(found)
        median = statistics.median(error for error, _ in found)
        cells.append(f"{100 * median:.1f} %, {100 * worst:.0f} % ({os.path.basename(page)})")
    print(f"| {recorded} | {network} | {' | '.join(cells)} |")
