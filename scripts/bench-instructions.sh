#!/usr/bin/env bash
# Instructions a simulated page load, counted by callgrind, beside the committed baseline: fails if one
# is more than TOLERANCE per cent above it. See docs/benchmarks.md.
#
# Usage: scripts/bench-instructions.sh [--update]
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust
command -v valgrind >/dev/null 2>&1 || apt_get valgrind || die "valgrind is not installed" \
  "install your system's package valgrind"

baseline=scripts/instructions.txt
tolerance=${TOLERANCE:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The benchmark's binary, as cargo built it.
bench=$(cargo bench --locked --quiet -p farlink-testbed --bench loads --no-run --message-format json |
  sed -n 's/.*"executable":"\([^"]*loads-[^"]*\)".*/\1/p' | tail -n 1)
[ -n "$bench" ] || die "cargo named no executable of the benchmark"

# Instructions that N loads of an arm take, start-up included: count ARM N
count() {
  valgrind --tool=callgrind --callgrind-out-file="$work/out" "$bench" --count "$1" "$2" 2>"$work/log" \
    || { cat "$work/log" >&2; die "valgrind failed on $1"; }
  sed -n 's/^summary: \([0-9]*\).*/\1/p' "$work/out"
}

# The difference of 30 and 10 loads: what start-up and the first load prepare is in both.
few=10 many=30
failed=0
: >"$work/new"
printf '%-10s %16s %16s %9s\n' arm instructions/load baseline change
for arm in h1/none h2/tls13; do
  got=$((($(count "$arm" $many) - $(count "$arm" $few)) / (many - few)))
  was=$(awk -v arm="$arm" '$1 == arm { print $2 }' "$baseline" 2>/dev/null || true)
  echo "$arm $got" >>"$work/new"
  change=$(awk -v got="$got" -v was="${was:-0}" 'BEGIN { print was ? sprintf("%+.1f %%", (got / was - 1) * 100) : "new" }')
  printf '%-10s %16s %16s %9s\n' "$arm" "$got" "${was:--}" "$change"
  if [ -n "$was" ] && [ $((got * 100)) -gt $((was * (100 + tolerance))) ]; then failed=1; fi
done
if [ "${1:-}" = --update ]; then
  cp "$work/new" "$baseline"
elif [ $failed = 1 ]; then
  die "a load takes over $tolerance % more instructions than $baseline says" \
    "find what costs (callgrind_annotate) or, if it is worth it, run $0 --update and say why in the commit"
fi
