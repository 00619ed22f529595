"""Writes what SciPy and NumPy say of fixed data, which crates/statistics/tests/statistics.rs holds our statistics against.

Usage: python3 scripts/statistics/reference.py > crates/statistics/tests/fixtures/statistics.json
Needs SciPy and statsmodels (pip install scipy statsmodels); the file names the versions that wrote it.

The data are chosen, not drawn: page load times of a published table, values with ties, few values, values far from
zero and close to each other (where a careless variance loses its digits), lopsided values.
"""

import json
import sys

import numpy
import scipy
from scipy import stats
from statsmodels.stats.multitest import multipletests

# bth2013, table C.1: SPDY over SSL, RTT in ms and mean page load time in s.
RTT_MS = [float(rtt) for rtt in range(50, 1001, 50)]
SAMPLES = {
    "five": [3.02, 3.51, 3.74, 3.33, 3.95],
    "ties": [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0],
    "two": [1.5, 2.25],
    "far": [1e6 + 0.11, 1e6 + 0.13, 1e6 + 0.12, 1e6 + 0.19, 1e6 + 0.15, 1e6 + 0.14],
    "lopsided": [round(1.7**k / 3.0, 6) for k in range(30)],
    "hundred": [round(5.0 + ((k * 37) % 101) / 17.0, 6) for k in range(100)],
}
LINES = {
    "rtt": (
        RTT_MS,
        [3.62, 4.80, 5.50, 6.07, 8.38, 8.80, 9.42, 9.83, 11.56, 12.96]
        + [15.25, 16.87, 15.27, 15.70, 18.67, 17.81, 19.32, 21.15, 20.71, 24.02],
    ),
    "few": ([1.0, 2.0, 4.0], [2.5, 1.0, 3.75]),
    "falling": ([150.0, 650.0, 1150.0, 1650.0, 2150.0], [25.67, 9.3, 7.1, 5.88, 5.5]),
    "far": ([2000.0, 2001.0, 2002.0, 2003.0, 2004.0], [1e5 + 1.25, 1e5 + 3.5, 1e5 + 4.75, 1e5 + 8.0, 1e5 + 8.5]),
}
TESTS = {
    "exact": ([3.1, 4.7, 5.9, 8.2, 9.3], [1.2, 2.6, 4.4, 5.1, 6.3, 7.7]),
    "exact_all_apart": ([10.0, 11.0, 12.0, 13.0, 14.0], [1.0, 2.0, 3.0, 4.0, 5.0]),
    "exact_even": ([1.0, 4.0], [2.0, 3.0]),
    "exact_large": ([k * 1.01 + 0.3 for k in range(20)], [k * 0.97 for k in range(22)]),
    "ties": ([3.0, 4.0, 4.0, 5.0, 6.0, 6.0], [1.0, 2.0, 4.0, 4.0, 5.0]),
    "many": ([5.0 + ((k * 37) % 61) / 7.0 for k in range(60)], [5.4 + ((k * 23) % 53) / 7.0 for k in range(50)]),
}
PAIRS = {
    "exact": ([3.1, 4.7, 5.9, 8.2, 9.3, 7.0], [2.9, 5.6, 4.4, 5.1, 6.3, 7.7]),
    "exact_one_side": ([10.0, 11.5, 12.25, 13.125], [1.0, 2.0, 3.0, 4.5]),
    "exact_large": ([k * 1.01 + 0.3 + (k * 37 % 11) / 7.0 for k in range(40)], [k * 1.03 + 0.29 * (k * 23 % 13) for k in range(40)]),
    "ties": ([3.0, 4.0, 4.0, 5.0, 6.0, 6.0], [1.0, 2.0, 5.0, 4.0, 5.0, 9.0]),
    "zeros": ([3.0, 4.0, 4.0, 5.0, 6.5, 6.0], [3.0, 2.0, 5.0, 4.5, 5.0, 6.0]),
    "many": ([5.0 + ((k * 37) % 61) / 7.0 for k in range(60)], [5.4 + ((k * 23) % 53) / 7.0 for k in range(60)]),
}
RULES = {
    "NearestRank": "inverted_cdf",
    "Weibull": "weibull",
    "Linear": "linear",
    "MedianUnbiased": "median_unbiased",
}
SHARES = [0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0]
# Where our test counts out the orders (crates/statistics/src/mann_whitney.rs).
EXACT_UP_TO = 50


def sample(values):
    values = numpy.array(values)
    interval = stats.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
    half = 1.96 * stats.sem(values)
    return {
        "values": values.tolist(),
        "mean": values.mean(),
        "deviation": values.std(ddof=1),
        "student": list(interval),
        "normal": [values.mean() - half, values.mean() + half],
        "median": median_interval(values),
        "relative_percent": 100 * half / values.mean(),
        "percentiles": {
            rule: [numpy.quantile(values, share, method=method) for share in SHARES]
            for rule, method in RULES.items()
        },
    }


def median_interval(values, level=0.95):
    """Hettmansperger and Sheather's interval (1986); None for too few values."""
    values, n = numpy.sort(values), len(values)
    outside = stats.binom(n, 0.5).cdf
    depths = [d for d in range(1, n // 2 + 1) if 1 - 2 * outside(d - 1) >= level]
    if not depths:
        return None
    d = depths[-1]
    outer, inner = 1 - 2 * outside(d - 1), 1 - 2 * outside(d)
    share = (outer - level) / (outer - inner)
    inwards = (n - d) * share / (d + (n - 2 * d) * share)
    between = lambda a, b: (1 - inwards) * a + inwards * b
    return [between(values[d - 1], values[d]), between(values[n - d], values[n - d - 1])]


MANY_TESTS = {
    "one": [0.03],
    "some": [0.01, 0.04, 0.03, 0.005, 0.2],
    "ties": [0.02, 0.02, 0.5, 0.5, 0.01],
    "many": [0.001 * k * k for k in range(1, 30)],
    "ends": [0.0, 1.0, 0.6],
}


def line(x, y):
    fit = stats.linregress(x, y)
    t = stats.t.ppf(0.975, len(x) - 2)
    return {
        "x": x,
        "y": y,
        "slope": fit.slope,
        "intercept": fit.intercept,
        "r_squared": fit.rvalue**2,
        "slope_interval": [fit.slope - t * fit.stderr, fit.slope + t * fit.stderr],
        "intercept_interval": [fit.intercept - t * fit.intercept_stderr, fit.intercept + t * fit.intercept_stderr],
        "pearson": stats.pearsonr(x, y).statistic,
        "spearman": stats.spearmanr(x, y).statistic,
    }


def mann_whitney(first, second):
    values = first + second
    exact = len(values) <= EXACT_UP_TO and len(set(values)) == len(values)
    test = stats.mannwhitneyu(first, second, alternative="two-sided", method="exact" if exact else "asymptotic")
    return {"first": first, "second": second, "exact": exact, "u": test.statistic, "p": test.pvalue}


def wilcoxon(first, second):
    differences = numpy.array(first) - numpy.array(second)
    sizes = numpy.abs(differences)
    exact = len(first) <= EXACT_UP_TO and 0 not in differences and len(set(sizes)) == len(sizes)
    test = stats.wilcoxon(first, second, zero_method="wilcox", correction=False, method="exact" if exact else "asymptotic")
    kept = differences[differences != 0]
    ranks = stats.rankdata(numpy.abs(kept))
    larger = ranks[kept > 0].sum()
    effect = 2 * larger / ranks.sum() - 1
    return {"first": first, "second": second, "larger": larger, "effect": effect, "p": test.pvalue}


def adjusted(probabilities):
    return {
        "probabilities": probabilities,
        "holm": multipletests(probabilities, method="holm")[1].tolist(),
    }


def main():
    reference = {
        "scipy": scipy.__version__,
        "numpy": numpy.__version__,
        "shares": SHARES,
        "samples": {name: sample(values) for name, values in SAMPLES.items()},
        "lines": {name: line(*points) for name, points in LINES.items()},
        "mann_whitney": {name: mann_whitney(*samples) for name, samples in TESTS.items()},
        "wilcoxon": {name: wilcoxon(*samples) for name, samples in PAIRS.items()},
        "adjustments": {name: adjusted(probabilities) for name, probabilities in MANY_TESTS.items()},
    }
    json.dump(reference, sys.stdout, indent=1, default=float)
    print()


if __name__ == "__main__":
    main()
