"""Compares advice found by searching with that found by trying everything: RESULTS, two lines a page and network."""

import json
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
made = of_all = 0
worst = 0.0
print(f"{'page':22}{'network':22}{'searched':>10}{'best':>10}{'behind':>9}{'loads':>8}{'of all':>8}")
for searched, tried in zip(lines[::2], lines[1::2]):

    def load_time(advice):
        steps = advice["steps"]
        return steps[-1]["networks"][0]["in_all"]["after"] if steps else None

    times = [load_time(searched), load_time(tried)]
    network = next((step["networks"][0]["network"] for step in tried["steps"] + searched["steps"]), "-")
    behind = times[0] / times[1] - 1 if all(times) else (0.0 if times == [None, None] else float("nan"))
    share = searched["loads"]["made"] / searched["loads"]["all"]
    made += searched["loads"]["made"]
    of_all += searched["loads"]["all"]
    worst = max(worst, behind) if behind == behind else float("inf")
    shown = [f"{time / 1e6:.0f} ms" if time else "as it is" for time in times]
    print(f"{searched['page'][-21:]:22}{network:22}{shown[0]:>10}{shown[1]:>10}{100 * behind:8.1f}%{searched['loads']['made']:8}{100 * share:7.1f}%")
print(f"at worst {100 * worst:.1f} % behind, {100 * made / of_all:.1f} % of the loads")
sys.exit(worst > 0.01 or made > 0.1 * of_all)
