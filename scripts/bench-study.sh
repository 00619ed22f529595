#!/usr/bin/env bash
# kallio2016's 12,000 visits - five network conditions, six configurations, 40 pages, ten loads - run, stored and reported. See docs/benchmarks.md.
#
# Usage: scripts/bench-study.sh [STORE]
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust

cargo build --profile dist --locked --quiet -p farlink
program=$PWD/target/dist/farlink
work=$(mktemp -d -p "$PWD/target")
trap 'rm -rf "$work"' EXIT
store=${1:-$work/kallio.sqlite}

begin=$(date +%s.%N)
for experiment in delay-http delay-spdy prb-http prb-spdy; do
  "$program" run "studies/kallio2016/$experiment.toml" --store "$store" -j 2 >/dev/null
done
ran=$(date +%s.%N)
"$program" report --store "$store" -o "$work/report.html"
"$program" study report kallio2016 --store "$store" --html "$work/study.html" >/dev/null
end=$(date +%s.%N)

# since EARLIER LATER: seconds between.
since() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }
"$program" runs --store "$store"
printf 'run in %s s, reported in %s s, together %s s (wanted: under 180)\n' \
  "$(since "$begin" "$ran")" "$(since "$ran" "$end")" "$(since "$begin" "$end")"
printf 'store: %s MB (wanted: under 200)\n' "$(($(stat -c %s "$store") / 1000000))"

command -v chromium >/dev/null 2>&1 || { echo "Chromium is not installed: how soon a report opens is not measured"; exit 0; }
# seconds_to_open PAGE: Chromium's own start included.
seconds_to_open() {
  local begin
  begin=$(date +%s.%N)
  chromium --headless --no-sandbox --disable-gpu --dump-dom "$1" >/dev/null 2>&1
  since "$begin" "$(date +%s.%N)"
}

# Once before, so that Chromium itself does not come from the disk.
seconds_to_open about:blank >/dev/null
for page in report study; do
  times=$(for _ in 1 2 3 4 5; do seconds_to_open "file://$work/$page.html"; echo; done | sort -n)
  printf '%s: %s KB, opened by Chromium in %s s, its start included: the median of %s (wanted: under 2)\n' "$page.html" \
    "$(($(stat -c %s "$work/$page.html") / 1000))" "$(sed -n 3p <<<"$times")" "$(paste -sd ' ' <<<"$times")"
done
