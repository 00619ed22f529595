#!/usr/bin/env bash
# Our HTTP/1.1 server against pipelined requests from a raw socket (`h2load --h1` is in ../nghttp2).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need python3 python3

serve_ours h1 none
"${limit[@]}" python3 scripts/interop/raw-socket/pipeline.py "$port" "$files"
