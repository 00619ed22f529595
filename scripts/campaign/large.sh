#!/usr/bin/env bash
# A large campaign: planned, run, exported; run again and killed 20 times; run as 7 shards and merged. All three must have one digest. Prints
# loads/s, bytes a load, and the most memory of each step.
#
#   scripts/campaign/large.sh [LOADS] [KILLS]      default: 50000 20; 1000000 takes an hour or two, three gigabytes in FARLINK_SCRATCH or /tmp
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null || die "python3 is not installed"
exec python3 scripts/campaign/large.py "$(newest_farlink)" "${1:-50000}" "${2:-20}"
