#!/usr/bin/env bash
# The full suite of validations: up to two hours in real time, on a machine that does nothing else.
# See docs/validation-suites.md. It goes on where it was interrupted.
#
# Usage: scripts/validate-full.sh [DIRECTORY [OPTIONS OF farlink validate]]
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust

out=${1:-out/validation}
shift || true
mkdir -p "$out"
cargo build --locked --release -p farlink
exec "${CARGO_TARGET_DIR:-target}/release/farlink" validate full \
  --store "$out/full.sqlite" --output "$out/full.html" "$@"
