"""Uses the package with types; `mypy --strict` checks it."""

from __future__ import annotations

from pathlib import Path

import farlink


def medians(store: Path) -> dict[str, float]:
    """Median load times in milliseconds by protocol."""
    network = farlink.Network("3g", rtt="200ms", loss=0.01)
    result = farlink.load("synthetic:10x5KB", network=network, protocol=["h1", "h2"], loads=6)
    visits = result.save(store).table("visits")
    times: dict[str, list[int]] = {}
    for protocol, time in zip(visits.column("protocol"), visits.column("plt_ns")):
        if isinstance(protocol, str) and isinstance(time, int):
            times.setdefault(protocol, []).append(time)
    return {name: sorted(all_of)[len(all_of) // 2] / 1e6 for name, all_of in times.items()}


def size(experiment: farlink.Experiment) -> tuple[int, int]:
    """Scenarios and journeys."""
    return experiment.scenarios, experiment.journeys


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        print(medians(Path(folder, "typed.sqlite")))
    print(
        size(farlink.Experiment({"page": {"name": "synthetic:1x1KB"}, "network": {"base": "3g"}}))
    )
