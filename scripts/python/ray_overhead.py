"""An experiment by the plain runner and over a local Ray cluster with as many processors: the same digest, and what the cluster costs."""

import os
import tempfile
import time
from pathlib import Path

import ray

import farlink
from farlink import ray as over_ray

CORES = os.cpu_count() or 1
experiment = farlink.Experiment(
    {
        "name": "overhead",
        "repetitions": 250,
        "keep": "visits",
        "page": {"name": "synthetic:30x10KB"},
        "network": {"base": ["3g", "4g"]},
        "stack": {"protocol": ["h1", "h2"]},
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
print(
    f"{experiment.journeys} journeys on {CORES} cores: plain runner {min(plain_s):.1f} s, Ray {min(cluster_s):.1f} s "
    f"({min(cluster_s) / min(plain_s) - 1:+.0%}), the best of {ROUNDS} each; one digest"
)
