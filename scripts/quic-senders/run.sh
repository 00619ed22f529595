#!/usr/bin/env bash
# HTTP/3 from another sender: pages and bulk from quic-go and from ours, over the same emulated links to the same loader, and simulated.
# Some half an hour, on a machine that does nothing else; what was measured is kept, and it goes on where it was interrupted.
#
# Usage: scripts/quic-senders/run.sh [DIRECTORY]     (default out/quic-senders; the table is DIRECTORY/table.md)
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_rust
command -v go >/dev/null || die "this needs Go: apt-get install golang-go, or https://go.dev/dl"

out=${1:-out/quic-senders}
mkdir -p "$out" target/interop
cargo build --locked -p farlink
cargo build --locked -p farlink-proxy -p farlink-browser --examples
go build -C scripts/interop/quic-go -o "$root/target/interop/quic-go-peer" .
exec python3 scripts/quic-senders/compare.py "$out"
