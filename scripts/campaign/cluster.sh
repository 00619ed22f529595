#!/usr/bin/env bash
# How well a campaign would use a thousand cores: shards, their stores and the merging of these are measured here, one at a time; a cluster is
# then simulated from these numbers.
#
#   scripts/campaign/cluster.sh [CORES]      default: 1000
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null || die "python3 is not installed"
exec python3 scripts/campaign/cluster.py "$(newest_farlink)" "${1:-1000}"
