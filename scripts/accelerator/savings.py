"""Table of savings.sh: medians over pages of what each route leaves of the plain proxy's bytes and times."""

import csv
import statistics
import sys
from collections import defaultdict

PLAIN = "proxy"
# The way from the proxy to the origins, which all routes have.
BEYOND = ",rtt=50ms"
FIGURES = {
    "bytes": "wire_bytes_down",
    "first render": "model_first_render_ns",
    "load": "plt_ns",
}

by_cell = defaultdict(lambda: defaultdict(list))
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        values = {name: float(row[column]) for name, column in FIGURES.items() if row[column]}
        # A visit that failed compares with nothing.
        if len(values) == len(FIGURES) and row["requests_failed"] == "0":
            for name, value in values.items():
                by_cell[row["network_base"], row["route"].replace(BEYOND, ""), row["page"]][name].append(value)

networks = list(dict.fromkeys(network for network, _, _ in by_cell))
routes = list(dict.fromkeys(route for _, route, _ in by_cell if route != PLAIN))
print("| network | route | pages | " + " | ".join(FIGURES) + " | pages with a first render 10 % sooner |")
print("|---|---|---|" + "---|" * (len(FIGURES) + 1))
for network in networks:
    for route in routes:
        ratios = defaultdict(list)
        for (at, by, page), values in by_cell.items():
            plain = by_cell.get((network, PLAIN, page))
            if (at, by) != (network, route) or not plain:
                continue
            for name in FIGURES:
                ratios[name].append(statistics.median(values[name]) / statistics.median(plain[name]))
        count = len(ratios["bytes"])
        left = " | ".join(f"{statistics.median(ratios[name]) - 1:+.1%}" for name in FIGURES)
        sooner = sum(ratio <= 0.9 for ratio in ratios["first render"])
        print(f"| {network} | `{route}` | {count} | {left} | {sooner} |")
