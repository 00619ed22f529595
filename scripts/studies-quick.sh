#!/usr/bin/env bash
# All five studies with two loads of each cell and one draw of drawn sites: whether everything runs and is judged, and comes to the same bits twice.
# scripts/studies-quick.sh [--program FILE]: the program is the release build unless another is named.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

if [ "${1:-}" = --program ]; then
  farlink=$(realpath "${2:?--program needs a file}")
else
  need_rust
  cargo build --release --locked --quiet -p farlink
  farlink=$(realpath "${CARGO_TARGET_DIR:-target}/release/farlink")
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judged NAME: runs and judges everything in a folder of its own; prints how long the run took, in seconds.
judged() {
  mkdir "$work/$1"
  (
    cd "$work/$1"
    "$farlink" study run --all --quick --store studies.sqlite >run.txt
    sed -n 's/^[0-9]* journeys in \([0-9.]*\) s$/\1/p' run.txt
    "$farlink" study report --all --quick --claims --store studies.sqlite --tables tables >report.txt
  )
}

first=$(judged first)
second=$(judged second)
printf 'all studies, two loads of each cell: %s s, and again %s s\n' "$first" "$second"

# The tables have the digest of every run and every verdict with its numbers.
diff -r "$work/first/tables" "$work/second/tables" || die "two runs of the same studies differ"
digests=$(cat "$work"/first/tables/*/experiments.csv | grep -cE '^[a-z0-9-]+,[0-9]+,[0-9a-f]{16},')
experiments=$("$farlink" study list | sed -n 's/.* \([0-9]*\) of [0-9]* *$/\1/p' | awk '{ all += $1 } END { print all }')
[ "$digests" = "$experiments" ] || die "$digests of $experiments experiments have a complete run"

claims=$(cat studies/*/claims.toml | grep -c '^\[\[claim\]\]')
verdicts=$(grep -cE '^[a-z0-9.-]+ \((strong|medium|weak|untestable)\): (confirmed|refuted|inconclusive|untestable|open)' "$work/first/report.txt")
[ "$verdicts" = "$claims" ] || die "$verdicts of $claims claims have a verdict"
# Causes have runs of their own (`study run --causes`), claims none.
if grep -v '^cause (' "$work/first/report.txt" | grep -E ': open: .*a run of'; then die "a claim waits for a run although everything was run"; fi
printf '%s experiments, %s claims with a verdict\n' "$digests" "$verdicts"

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: Chromium is not installed, so no report was opened"; exit 0; }
(cd "$work/first" && "$farlink" study report petuchowski2015 --quick --store studies.sqlite -o reports >/dev/null)
"$chromium" --headless --no-sandbox --disable-gpu --no-first-run --virtual-time-budget=8000 --enable-logging=stderr \
  --user-data-dir="$work/profile" --dump-dom "file://$work/first/reports/petuchowski2015-page.html" >"$work/dom.html" 2>"$work/log"
if grep -E 'CONSOLE.*(Uncaught|Error|Refused)' "$work/log"; then die "the report's scripts failed"; fi
charts=$(grep -oE '<svg' "$work/dom.html" | wc -l)
[ "$charts" -ge 3 ] || die "the report of a study's experiment drew $charts charts; at least 3 were expected"
printf 'a report with %s charts opens\n' "$charts"
