#!/usr/bin/env bash
# SPDY of both ends against npm's `spdy`, which only checks use.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
command -v npm >/dev/null 2>&1 || { echo "skipped: npm is not installed"; exit 0; }

npm ci --prefix scripts/spdy --no-audit --no-fund --silent
cargo test --workspace --locked --quiet --test suite spdy_interop
