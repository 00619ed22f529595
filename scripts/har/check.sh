#!/usr/bin/env bash
# HARs that farlink writes are valid (npm har-validator) and a public viewer draws all of them (npm perf-cascade).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
command -v npm >/dev/null 2>&1 || { echo "skipped: npm is not installed"; exit 0; }

farlink=${FARLINK:-target/debug/farlink}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

npm ci --prefix scripts/har --no-audit --no-fund --silent
"$farlink" load bth2013 --network 3g --protocol h1,h2 --view both -n 1 --har "$work/bth.har" >/dev/null
"$farlink" load synthetic:5x1KB --network 3g --protocol h2 --tls none,tls12 -n 1 --har "$work/small.har" >/dev/null
node scripts/har/validate.mjs "$work"/*.har

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: Chromium is not installed, so no viewer was tried"; exit 0; }
node scripts/har/viewer-page.mjs "$work"/*.har >"$work/page.html"
"$chromium" --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --user-data-dir="$work/profile" --virtual-time-budget=5000 \
  --dump-dom "file://$work/page.html" 2>/dev/null >"$work/dom.html"
grep -oE 'drawn [0-9]+ of [0-9]+' "$work/dom.html" | tee "$work/drawn"
files=$(ls "$work"/*.har | wc -l)
[ "$(wc -l <"$work/drawn")" = "$files" ] || die "the viewer did not draw each of the $files HARs"
awk '$2 != $4 || $2 == 0 { bad = 1 } END { exit bad }' "$work/drawn" || die "the viewer left out entries"
