#!/usr/bin/env bash
# scripts/warc-corpus.sh FOLDER: what farlink makes of every archive in a folder: requests, responses without a body, how many dependencies the
# bodies name, a load over 3G, and what a replay is asked for and has not. For collections of other recorders' files, such as servo/servo-warc-tests, which hold real pages.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
[ $# -eq 1 ] && [ -d "$1" ] || die "name a folder of .warc, .warc.gz or .wacz files"
need_rust
cargo build --release --locked --quiet
farlink=target/release/farlink

printf '%-60s %8s %8s %6s %5s %10s %9s %8s %8s %8s\n' archive requests bodiless hosts read 'h2 over 3G' replayed similar missing 'no name'
proof=$(mktemp)
trap 'rm -f "$proof"' EXIT
for file in "$1"/*.warc "$1"/*.warc.gz "$1"/*.wacz; do
  [ -f "$file" ] || continue
  if ! listed=$("$farlink" archive ls "$file" 2>&1); then
    printf '%-60s %s\n' "${file##*/}" "$(grep -m1 '^error' <<<"$listed")"
    continue
  fi
  rows=$(tail -n +2 <<<"$listed" | grep -c '://' || true)
  bodiless=$(grep -cE ' +[0-9]+ [kM]?B +- ' <<<"$listed" || true)
  if ! shown=$("$farlink" pages show "$file" 2>&1); then
    printf '%-60s %8s %8s %s\n' "${file##*/}" "$rows" "$bodiless" "$(grep -m1 '^error' <<<"$shown")"
    continue
  fi
  hosts=$(grep -c '^host ' <<<"$shown" || true)
  read=$(sed -n '/read in bodies/{s/.* \([0-9]*\) read in bodies.*/\1/p;q}' <<<"$shown")
  plt=$("$farlink" load "$file" --network 3g --protocol h2 -n 1 --no-noise --json 2>/dev/null | jq -r '.failure // "\(.plt_ms / 1000 * 100 | round / 100) s"') || plt=failed
  replayed=$("$farlink" replay "$file" --network rtt=40ms,down=20mbit,up=5mbit,queue=200pkt --protocol h2 -n 1 --think none --origins equal \
    --proof "$proof" 2>&1 >/dev/null) && replayed=$(jq -r '.loads[0].account.replay | "\(.exact) \(.inexact) \(.missing) \(.unknown_names)"' "$proof") \
    || replayed=$(grep -m1 '^error' <<<"$replayed" | tr ' ' '_')
  # shellcheck disable=SC2086 # four columns
  printf '%-60s %8s %8s %6s %5s %10s %9s %8s %8s %8s\n' "${file##*/}" "$rows" "$bodiless" "$hosts" "$read" "$plt" $replayed
done
