#!/usr/bin/env python3
"""Prints modelled first renders beside painted ones: `compare.py DIRECTORY`. Fails if they differ much."""

import json
import statistics
import sys

# A page counts as the same within this share or this time: a browser paints in frames, and lays out first.
SHARE, MILLISECONDS = 0.15, 100


def main():
    directory = sys.argv[1]
    loads = {}
    with open(f"{directory}/painted", encoding="utf-8") as file:
        for line in file:
            name, paint, loaded = line.split()
            loads.setdefault(name, []).append((int(paint), int(loaded)))
    print("| page | FCP, ms | render\\*, ms | off | load event, ms | PLT, ms |\n|---|--:|--:|--:|--:|--:|")
    far, offs = [], []
    for name, measured in loads.items():
        painted, loaded = (statistics.median(column) for column in zip(*measured))
        with open(f"{directory}/{name}.json", encoding="utf-8") as file:
            visit = json.loads(file.readline())
        render, plt = visit["model_first_render_ms"], visit["plt_ms"]
        off = render / painted - 1
        offs.append(abs(off))
        if abs(off) > SHARE and abs(render - painted) > MILLISECONDS:
            far.append(name)
        print(f"| {name} | {painted:.0f} | {render:.0f} | {off:+.0%} | {loaded:.0f} | {plt:.0f} |")
        assert render <= plt, f"{name}: the first render comes after the load event"
    print(f"\nmedian difference {statistics.median(offs):.0%}, largest {max(offs):.0%}")
    if far:
        sys.exit(f"far from what Chromium painted: {', '.join(far)}")


if __name__ == "__main__":
    main()
