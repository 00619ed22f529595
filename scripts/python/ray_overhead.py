"""An experiment by the plain runner and over a local Ray cluster with as many processors: the same digest, and what the cluster costs.

Usage: ray_overhead.py [JOURNEYS]. Runs of less than some 20 s (5,000 journeys) say more about starting than about running.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import ray

import farlink
from farlink import ray as over_ray

CORES = os.cpu_count() or 1
JOURNEYS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
NETWORKS, PROTOCOLS = ["3g", "4g"], ["h1", "h2"]
experiment = farlink.Experiment(
    {
        "name": "overhead",
        "repetitions": JOURNEYS // (len(NETWORKS) * len(PROTOCOLS)),
        "keep": "visits",
        "page": {"name": "synthetic:30x10KB"},
        "network": {"base": NETWORKS},
        "stack": {"protocol": PROTOCOLS},
    }
)

ROUNDS = 3
plain_s, cluster_s, digests = [], [], set()
# Ray gives way to everything else on a machine (niceness 15), which is not what is measured here.
os.environ["RAY_worker_niceness"] = "0"
ray.init(num_cpus=CORES, include_dashboard=False, log_to_driver=False)
with tempfile.TemporaryDirectory() as folder:
    # Workers have started and imported farlink once.
    warm = farlink.Experiment(experiment.text, seed=2, repetitions=CORES)
    over_ray.run(warm, Path(folder, "warm.sqlite"))
    # In turn, so that a machine that is busy with something else slows both.
    for number in range(ROUNDS):
        begin = time.perf_counter()
        plain = experiment.run(store=Path(folder, f"plain-{number}.sqlite"), workers=CORES)
        plain_s.append(time.perf_counter() - begin)
        digests.add(plain.digest)
        begin = time.perf_counter()
        cluster = over_ray.run(experiment, Path(folder, f"ray-{number}.sqlite"), shards=2 * CORES)
        cluster_s.append(time.perf_counter() - begin)
        digests.add(cluster.digest)
ray.shutdown()

assert len(digests) == 1, digests
plain, cluster = statistics.median(plain_s), statistics.median(cluster_s)
overhead = statistics.median(over / alone for alone, over in zip(plain_s, cluster_s)) - 1
print(
    f"{experiment.journeys} journeys on {CORES} cores: plain runner {plain:.1f} s, Ray {cluster:.1f} s "
    f"({overhead:+.1%}), medians of {ROUNDS} pairs; one digest"
)
