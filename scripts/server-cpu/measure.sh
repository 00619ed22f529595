#!/usr/bin/env bash
# CPU time of servers for a handshake, a request and a megabyte: nginx by HTTP/1.1 and HTTP/2, Caddy by HTTP/3, over loopback, one worker.
# Each cost is the slope between few and many of one kind. `farlink decide` has the results (crates/farlink/src/commands/decide/server_cpu.rs).
#
#   scripts/server-cpu/measure.sh [ROUNDS]      default: 5; medians are printed. Needs nginx, caddy, h2load, openssl, python3 and the peer example
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_rust
for tool in nginx caddy h2load openssl python3; do command -v "$tool" >/dev/null 2>&1 || PATH=$PATH:/usr/sbin; command -v "$tool" >/dev/null 2>&1 || die "$tool is not installed"; done
cargo build --workspace --locked --quiet --example peer --bin farlink
work=$(mktemp -d)
# The worker of nginx is another user.
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
python3 scripts/server-cpu/measure.py target/debug/examples/peer "$work" "${1:-5}"
