#!/usr/bin/env bash
# Bulk transfers in farlink and in ns-3 on the same dumbbell: completion times side by side, the theory, and the speed of both.
#
#   scripts/ns3/run.sh [--quick]      about 10 minutes on two cores; --quick: about two
#
# Needs Debian's ns-3 (`apt-get install g++ pkg-config libns3-dev libgsl-dev`). Writes target/ns3/transfers.csv and prints Markdown.
set -euo pipefail
cd "$(dirname "$0")/../.."

pkg-config --exists ns3-internet || {
    echo "ns-3 is not installed: apt-get install g++ pkg-config libns3-dev libgsl-dev" >&2
    exit 3
}
out=target/ns3
mkdir -p "$out"
modules="ns3-core ns3-network ns3-internet ns3-point-to-point ns3-applications ns3-traffic-control"
# shellcheck disable=SC2046,SC2086
g++ -O2 -std=c++17 scripts/ns3/dumbbell.cc -o "$out/dumbbell" $(pkg-config --cflags --libs $modules)
cargo build --profile dist --locked --quiet -p farlink-world --example bulk
bulk=target/dist/examples/bulk

echo "100 MB over 10 Mbit/s, RTT 100 ms, queue 100 packets, CUBIC: completion s, goodput bit/s, timeouts, packets, CPU s"
for _ in 1 2 3; do
    echo "farlink  $("$bulk" rtt=100ms,down=10mbit,up=100gbit,queue=100pkt cubic 100000000 1)"
    echo "ns-3     $("$out/dumbbell" --congestion=cubic --bytes=100000000)"
done
echo
python3 scripts/ns3/compare.py "$bulk" "$out/dumbbell" "$out/transfers.csv" "$@"
