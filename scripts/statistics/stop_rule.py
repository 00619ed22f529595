"""Coverage of a median's interval after repeating until it was narrow, on distributions of several shapes.

Usage: python3 scripts/statistics/stop_rule.py [TRIALS]      default: 1,500; needs NumPy and SciPy

The rule is that of crates/statistics/src/stop_rule.rs: from 20 values, 3 % more at each look, intervals of 96 %. For comparison, intervals
of 95 %, which hold too little.
"""

import math
import sys
from functools import cache

import numpy
from scipy.stats import binom

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
MOST = 5000
random = numpy.random.default_rng(1)


def two_heaps(n):
    return numpy.where(random.random(n) < 0.2, random.normal(1.5, 0.2, n), random.normal(1, 0.08, n))


SHAPES = {
    "normal": (lambda n: random.normal(1, 0.05, n), 1.0),
    "exponential": (lambda n: 1 + random.exponential(0.3, n), 1 + 0.3 * math.log(2)),
    "uniform": (lambda n: random.uniform(0.8, 1.2, n), 1.0),
    "two heaps": (two_heaps, numpy.median(two_heaps(4_000_000))),
}


@cache
def places(n, level):
    depth = 1
    while 1 - 2 * binom.cdf(depth, n, 0.5) >= level:
        depth += 1
    outer, inner = 1 - 2 * binom.cdf(depth - 1, n, 0.5), 1 - 2 * binom.cdf(depth, n, 0.5)
    share = (outer - level) / (outer - inner)
    return depth, (n - depth) * share / (depth + (n - 2 * depth) * share)


def interval(values, level):
    n, values = len(values), numpy.sort(values)
    depth, inwards = places(n, level)
    low = (1 - inwards) * values[depth - 1] + inwards * values[depth]
    high = (1 - inwards) * values[n - depth] + inwards * values[n - depth - 1]
    return low, high, (high - low) / numpy.median(values)


def repeat_until(width, level, draw):
    values, n = draw(MOST), 20
    while True:
        low, high, reached = interval(values[:n], level)
        if reached <= width:
            return n, low, high, reached
        n = max(n + 1, math.ceil(1.03 * n))


print(f"{'shape':14}{'width':>7}{'level':>7}{'loads':>8}{'reached / asked: p5, median':>30}{'covered':>10}")
for shape, (draw, median) in SHAPES.items():
    for width in (0.05, 0.03):
        for level in (0.96, 0.95):
            ends = [repeat_until(width, level, draw) for _ in range(TRIALS)]
            reached = numpy.quantile([end[3] / width for end in ends], [0.05, 0.5])
            covered = numpy.mean([low <= median <= high for _, low, high, _ in ends])
            loads = numpy.median([end[0] for end in ends])
            print(f"{shape:14}{width:7.0%}{level:7.0%}{loads:8.0f}{reached[0]:24.2f}{reached[1]:6.2f}{covered:10.1%}", flush=True)
