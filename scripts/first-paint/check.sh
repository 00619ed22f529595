#!/usr/bin/env bash
# Holds the modelled first render against a real Chromium's first contentful paint: small pages with bodies, served
# for real, loaded behind the emulator, and simulated from the HAR of that load over the same network.
#
# Usage: check.sh [LOADS] (default 3). Takes the machine's own time; nothing else should run beside it.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib.sh
loads=${1:-3}
farlink=${FARLINK:-target/debug/farlink}
network=${NETWORK:-rtt=100ms,down=4mbit,up=1mbit,queue=100pkt}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: Chromium is not installed"; exit 0; }

work=$(mktemp -d)
python3 scripts/first-paint/pages.py 8098 &
server=$!
trap 'kill "$server"; rm -rf "$work"' EXIT
sleep 1
names=$(cd scripts/first-paint && python3 -c 'import pages; print(*pages.PAGES)')
# shellcheck disable=SC2086
"$farlink" shell --network "$network" --host-loopback 8098 -- python3 scripts/first-paint/record.py \
  "$chromium" http://server.farlink:8098 "$work" "$loads" $names >"$work/painted"
for name in $names; do
  "$farlink" load "$work/$name.har" --network "$network" --protocol h1 --tls none -n 1 --no-noise --json \
    >"$work/$name.json"
done
python3 scripts/first-paint/compare.py "$work"
