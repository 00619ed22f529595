"""Compares advice found by searching with that found by trying everything: FARLINK RESULTS, two lines a page and network.

Where the two differ, both are loaded again with other seeds: the best of hundreds of configurations owes a part of its lead to chance.
"""

import json
import statistics
import subprocess
import sys

AGAIN = ["-n", "60", "--seed", "1000", "--json"]

program, results = sys.argv[1:]
lines = [json.loads(line) for line in open(results)]
made = of_all = 0
worst = 0.0


def load_time(advice):
    """The load time of the advised configuration in ns, as the advice gives it; None if it changes nothing."""
    return advice["steps"][-1]["networks"][0]["in_all"]["after"] if advice["steps"] else None


def options(advice):
    """The page and the options of the advised configuration."""
    page, options = advice["page"], []
    for step in advice["steps"]:
        if step["option"].startswith("PAGE"):
            page += step["option"].removeprefix("PAGE")
        else:
            options += step["option"].split()
    return [page, *(options if "--protocol" in options else ["--protocol", advice["protocol"], *options])]


def loaded_again(advice, network):
    """Its load time with other seeds."""
    shown = subprocess.run(
        [program, "load", *options(advice), "--network", network, *AGAIN], check=True, capture_output=True, text=True
    )
    return statistics.median(json.loads(line)["plt_ms"] for line in shown.stdout.splitlines())


print(f"{'page':22}{'network':24}{'searched':>10}{'best':>10}{'behind':>9}{'again':>9}{'loads':>8}{'of all':>8}")
for searched, tried in zip(lines[::2], lines[1::2]):
    times = [load_time(searched), load_time(tried)]
    network = next((step["networks"][0]["network"] for step in tried["steps"] + searched["steps"]), None)
    behind = times[0] / times[1] - 1 if all(times) else (0.0 if times == [None, None] else float("nan"))
    again = behind
    if options(searched) != options(tried):
        again = loaded_again(searched, network) / loaded_again(tried, network) - 1
    share = searched["loads"]["made"] / searched["loads"]["all"]
    made += searched["loads"]["made"]
    of_all += searched["loads"]["all"]
    # Behind by the advice's own loads and by others: one of them alone may be chance.
    worst = max(worst, min(behind, again))
    shown = [f"{time / 1e6:.0f} ms" if time else "as it is" for time in times]
    print(
        f"{searched['page'][-21:]:22}{network or '-':24}{shown[0]:>10}{shown[1]:>10}{100 * behind:8.1f}%{100 * again:8.1f}%"
        f"{searched['loads']['made']:8}{100 * share:7.1f}%",
        flush=True,
    )
print(f"at worst {100 * worst:.1f} % behind, with the same seeds and with others, {100 * made / of_all:.1f} % of the loads")
sys.exit(worst > 0.01 or made > 0.1 * of_all)
