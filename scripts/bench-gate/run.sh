#!/bin/sh
# Requests per server CPU-second of our HTTP/1.1 server beside HAProxy's cache: 1 KiB, kept-alive
# connections, the server on one core, the load on another. See docs/benchmarks.md.
#
# Usage: scripts/bench-gate/run.sh [--rounds N] [--seconds S] [--connections C]
# Needs: haproxy and wrk (Debian packages of those names), python3, two cores.
set -eu
cd "$(dirname "$0")/../.."

for tool in haproxy wrk python3 taskset; do
    if ! command -v "$tool" >/dev/null; then
        echo "error: $tool is missing" >&2
        echo "hint: apt-get install haproxy wrk python3 util-linux" >&2
        exit 1
    fi
done

cargo build --profile dist --quiet -p farlink-http --example fixed_reply
exec python3 scripts/bench-gate/gate.py "$@"
