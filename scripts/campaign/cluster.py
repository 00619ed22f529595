"""Models a campaign on a cluster from what this machine measures: FARLINK CORES. See cluster.sh."""

import heapq
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

farlink, cores = sys.argv[1], int(sys.argv[2])

NETWORK_BITS_PER_S = 1e9
"""Between workers and the machine that merges."""

DISPATCH_S = 0.001
"""Scheduling of a task: Ray's documentation counts on thousands of tasks a second, so this is high."""

WORKLOADS = {
    "pages of a few objects": ("[\"synthetic:1x5KB\", \"synthetic:4x5KB\"]", 4000),
    "pages of 30 objects": ("[\"synthetic:30x10KB\"]", 1600),
    "recorded pages": ("[\"examples/shop.har\", \"bth2013\"]", 480),
}
"""Pages of each workload, and journeys of the run that is measured."""

EXPERIMENT = """format = 1
name = "cluster"
repetitions = {repetitions}
keep = "visits"

[page]
name = {pages}

[network]
base = ["3g", "4g", "wifi", "geo"]

[stack]
protocol = ["h1", "h2"]
"""


def timed(*arguments):
    """Seconds of a command."""
    begin = time.perf_counter()
    ran = subprocess.run([farlink, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    # 1: the merged run lacks journeys, as it must here.
    if ran.returncode not in (0, 1):
        sys.exit(ran.stderr)
    return time.perf_counter() - begin


def measured(folder, pages, journeys):
    """Seconds of a shard apart from its journeys, of a journey, their spread over shards; bytes and seconds of merging."""
    file = folder / "cluster.toml"
    scenarios = 8 * pages.count(",") + 8
    file.write_text(EXPERIMENT.format(pages=pages, repetitions=journeys // scenarios))
    parts, small, large = [], [], []
    # Shards of two sizes, each a journey at a time, in turn.
    for number in range(1, 5):
        for of, seconds in ((40, small), (8, large)):
            part = folder / f"part-{number}-{of}.sqlite"
            seconds.append(timed("run", file, "--shard", f"{number}/{of}", "--jobs", 1, "--store", part))
            if of == 8:
                parts.append(part)
    journeys_small, journeys_large = journeys / 40, journeys / 8
    journey = (statistics.median(large) - statistics.median(small)) / (journeys_large - journeys_small)
    fixed = max(0.0, statistics.median(small) - journey * journeys_small)
    spread = statistics.stdev(large) / statistics.mean(large)
    size = sum(part.stat().st_size for part in parts) / (len(parts) * journeys_large)
    one = timed("merge", parts[0], "--into", folder / "one.sqlite")
    all_four = timed("merge", *parts, "--into", folder / "all.sqlite")
    merging = max(0.0, all_four - one) / (3 * journeys_large)
    return fixed, journey, spread, size, merging


def campaign(loads, shard, is_merged, fixed, journey, spread, size, merging):
    """Seconds of a campaign: shards go to the first free core; the driver takes parts one after another as they arrive."""
    draw = random.Random(1)
    free = [0.0] * cores
    ends = []
    for task in range(-(-loads // shard)):
        begin = max(heapq.heappop(free), task * DISPATCH_S)
        journeys = min(shard, loads - task * shard)
        end = begin + fixed + journeys * journey * max(0.2, draw.gauss(1, spread))
        heapq.heappush(free, end)
        ends.append((end, journeys))
    if not is_merged:
        return max(end for end, _ in ends)
    driver = 0.0
    for end, journeys in sorted(ends):
        driver = max(driver, end) + journeys * (size * 8 / NETWORK_BITS_PER_S + merging)
    return driver


print("| pages | of a shard, its journeys apart | of a journey | between shards | a journey | merging a journey |")
print("|---|---|---|---|---|---|")
costs = {}
with tempfile.TemporaryDirectory() as name:
    for workload, (pages, journeys) in WORKLOADS.items():
        folder = pathlib.Path(name, workload.replace(" ", "-"))
        folder.mkdir()
        costs[workload] = fixed, journey, spread, size, merging = measured(folder, pages, journeys)
        print(
            f"| {workload} | {fixed * 1e3:.0f} ms | {journey * 1e3:.2f} ms | ±{100 * spread:.0f} % | {size:.0f} bytes | {merging * 1e3:.3f} ms |",
            flush=True,
        )
print(f"\n| pages | loads | one core | {cores} cores, tables written by workers | used | merged into one store | used |")
print("|---|---|---|---|---|---|---|")
for workload, cost in costs.items():
    for loads in (1_000_000, 10_000_000):
        alone = cost[0] + loads * cost[1]
        row = [workload, f"{loads:,}", f"{alone / 3600:.1f} h"]
        for is_merged in (False, True):
            # Small shards spread evenly, large ones cost less each: the best of some sizes.
            seconds = min(campaign(loads, shard, is_merged, *cost) for shard in (50, 100, 200, 500, 1000, 2000, 5000))
            row += [f"{seconds:.0f} s", f"{100 * alone / (cores * seconds):.0f} %"]
        print(f"| {' | '.join(row)} |", flush=True)
