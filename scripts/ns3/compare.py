"""Runs the grid of bulk transfers in farlink and in ns-3, prints both as a Markdown table and judges the theory.

Usage: compare.py BULK DUMBBELL CSV [--quick]
  BULK      target/dist/examples/bulk
  DUMBBELL  the program made from dumbbell.cc
  CSV       where every single transfer is written

For each cell: the median over seeds of the completion time in both, their ratio, and for lossy cells what theory says
(Mathis et al. 1997 for Reno, RFC 9438 section 5 for CUBIC, both capped by the rate).
"""

import csv
import itertools
import math
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

MSS = 1448
PACKET = 1500
RATES = {"1": 2_000_000, "10": 10_000_000, "100": 50_000_000}  # Mbit/s: bytes sent
RTTS = [0.020, 0.100, 0.600]
LOSSES = [0.0, 0.001, 0.01, 0.03]
BUFFERS = {"small": 0.25, "large": 2.0}  # in bandwidth-delay products
CONGESTION = ["reno", "cubic"]
SEEDS = range(1, 8)


def queue_packets(rate, rtt, factor):
    bdp = float(rate) * 1e6 * rtt / 8 / PACKET
    return max(10 if factor < 1 else 20, round(bdp * factor))


def ours(bulk, cell, seed):
    congestion, rate, rtt, loss, _, queue = cell
    network = (f"rtt={rtt * 1000:.0f}ms,down={rate}mbit,up=100gbit,down.queue={queue}pkt,"
               f"up.queue=unlimited,down.loss={loss * 100}%,up.loss=0%")
    return [bulk, network, congestion, str(RATES[rate]), str(seed)]


def theirs(dumbbell, cell, seed):
    congestion, rate, rtt, loss, _, queue = cell
    return [dumbbell, f"--congestion={congestion}", f"--rate={rate}Mbps", f"--rtt={rtt}", f"--loss={loss}",
            f"--queue={queue}", f"--bytes={RATES[rate]}", f"--seed={seed}"]


def measure(command):
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode != 0:
        return None
    completion, _, timeouts, packets, cpu = out.stdout.strip().split(",")
    return float(completion), int(timeouts), int(packets), float(cpu)


def theory(cell):
    """Segments a round trip (a window) that the response function gives, and the goodput that follows."""
    congestion, rate, rtt, loss, _, _ = cell
    if loss == 0:
        return None
    # Delayed acknowledgements do not slow Linux's growth: it counts segments, not acknowledgements.
    reno = math.sqrt(3 / 2) / math.sqrt(loss)
    # RFC 9438 section 5.1 with C = 0.4: 1.054 * (RTT / p)^0.75; never below Reno's (section 4.3).
    cubic = 1.054 * (rtt / loss) ** 0.75
    window = max(reno, cubic) if congestion == "cubic" else reno
    return min(window * MSS * 8 / rtt, float(rate) * 1e6 * MSS / PACKET)


def cells(quick):
    for congestion, rate, rtt, loss, buffer in itertools.product(CONGESTION, RATES, RTTS, LOSSES, BUFFERS):
        if quick and (rate == "100" or loss not in (0.0, 0.01)):
            continue
        yield congestion, rate, rtt, loss, buffer, queue_packets(rate, rtt, BUFFERS[buffer])


def main():
    bulk, dumbbell, path = sys.argv[1:4]
    grid = list(cells("--quick" in sys.argv))
    jobs = []
    for cell in grid:
        for seed in SEEDS if cell[3] > 0 else [1]:
            jobs.append((cell, seed, "farlink", ours(bulk, cell, seed)))
            jobs.append((cell, seed, "ns-3", theirs(dumbbell, cell, seed)))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: measure(job[3]), jobs))
    found = {}
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["congestion", "mbit_s", "rtt_s", "loss", "buffer", "queue_packets", "seed", "simulator",
                       "completion_s", "timeouts", "packets", "cpu_s"])
        for (cell, seed, simulator, _), result in zip(jobs, results):
            rows.writerow([*cell, seed, simulator, *(result or ["failed", "", "", ""])])
            if result:
                found.setdefault((cell, simulator), []).append(result[:2])
    show(grid, found)
    speed(jobs, results)


def show(grid, found):
    print("| control | Mbit/s | RTT ms | loss | queue | farlink s | ns-3 s | farlink/ns-3 | timeouts | goodput Mbit/s | theory | goodput/theory |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    ratios = []
    for cell in grid:
        congestion, rate, rtt, loss, buffer, queue = cell
        a, b = (found.get((cell, name)) for name in ("farlink", "ns-3"))
        if not a or not b:
            print(f"| {congestion} | {rate} | {rtt * 1000:.0f} | {loss:.1%} | {queue} ({buffer}) | "
                  f"{'ran' if a else 'failed'} | {'ran' if b else 'failed'} | - | | | | |")
            continue
        timeouts = " / ".join(f"{statistics.median(t for _, t in runs):.0f}" for runs in (a, b))
        a, b = (statistics.median(t for t, _ in runs) for runs in (a, b))
        ratios.append(a / b)
        goodput = RATES[rate] * 8 / a
        expected = theory(cell)
        against = f"{expected / 1e6:.2f} | {goodput / expected:.2f}" if expected else " | "
        print(f"| {congestion} | {rate} | {rtt * 1000:.0f} | {loss:.1%} | {queue} ({buffer}) | {a:.2f} | {b:.2f} | "
              f"{a / b:.2f} | {timeouts} | {goodput / 1e6:.2f} | {against} |")
    ratios.sort()
    n = len(ratios)
    print(f"\n{n} cells: farlink/ns-3 median {statistics.median(ratios):.2f}, "
          f"p10 {ratios[n // 10]:.2f}, p90 {ratios[n - 1 - n // 10]:.2f}; "
          f"within 10 %: {sum(abs(r - 1) <= 0.1 for r in ratios)}, within 25 %: {sum(abs(r - 1) <= 0.25 for r in ratios)}.")


def speed(jobs, results):
    for name in ("farlink", "ns-3"):
        done = [result for job, result in zip(jobs, results) if job[2] == name and result]
        packets, cpu = sum(r[2] for r in done), sum(r[3] for r in done)
        print(f"{name}: {packets} packets in {cpu:.1f} s of CPU, {packets / max(cpu, 1e-9) / 1e6:.2f} million a second.")


main()
