#!/usr/bin/env bash
# The advisor's search against trying everything: 10 pages over 5 networks. It prints load times of both and loads made; where the two
# differ, both are loaded again with other seeds. It fails if the search is more than 1 % behind anywhere, with the same seeds and with others,
# or makes more than a tenth of the loads in all.
#
#   scripts/advise/exhaustive.sh [REPETITIONS]      default: 10 loads of each configuration
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
farlink=$(newest_farlink)
repetitions=${1:-10}
pages=(bth2013 synthetic:10x10KB synthetic:40x20KB synthetic:100x5KB synthetic:20x50KB synthetic:5x200KB examples/shop.har bth2013~one-host synthetic:60x2KB synthetic:30x30KB)
networks=(3g 4g lte geo 3g,loss=1%,queue=50pkt)
results=$(mktemp)
trap 'rm -f "$results"' EXIT
for page in "${pages[@]}"; do
  for network in "${networks[@]}"; do
    for how in "" --exhaustive; do
      "$farlink" advise "$page" --network "$network" -n "$repetitions" --json $how >>"$results"
    done
  done
done
python3 scripts/advise/exhaustive.py "$farlink" "$results"
