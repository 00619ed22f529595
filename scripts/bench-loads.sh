#!/usr/bin/env bash
# Simulated page loads a CPU-second, pinned to one core. See docs/benchmarks.md.
#
# Usage: scripts/bench-loads.sh [ROUNDS LOADS]
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust

cargo bench --locked --quiet -p farlink-testbed --bench loads --no-run
pin=()
command -v taskset >/dev/null 2>&1 && pin=(taskset -c "$(($(nproc) - 1))")
exec "${pin[@]}" cargo bench --locked --quiet -p farlink-testbed --bench loads -- "$@"
