#!/usr/bin/env bash
# Sets everything up and runs all tests: what continuous integration runs.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust

tools() {
  command -v node >/dev/null 2>&1 || apt_get nodejs npm || true
  command -v chromium >/dev/null 2>&1 || apt_get chromium || true
  command -v nghttp >/dev/null 2>&1 || apt_get nghttp2-client || true
  command -v curl >/dev/null 2>&1 || apt_get curl || true
  command -v tshark >/dev/null 2>&1 || apt_get tshark || true
  if [ "${CI:-}" = true ]; then
    for tool in node npm chromium nghttp curl tshark; do
      command -v "$tool" >/dev/null 2>&1 || die "$tool is missing and could not be installed"
    done
  fi
}

deny() {
  if ! command -v cargo-deny >/dev/null 2>&1; then
    [ "${CI:-}" = true ] || { echo "skipped: cargo-deny is not installed (cargo install cargo-deny)"; return; }
    cargo install --locked --quiet cargo-deny@0.20.2
  fi
  cargo deny --log-level error check licenses bans sources
}

unit() { cargo test --workspace --locked --lib --bins; }
integration() { cargo test --workspace --locked --tests --exclude farlink-lab; cargo test --locked -p farlink-lab --tests; }

stage "tools" tools
stage "fmt" cargo fmt --check
stage "clippy" cargo clippy --workspace --all-targets --locked -- -D warnings
stage "crate arrows" cargo test --locked -p farlink --test arrows
stage "cargo-deny" deny
stage "unit and property" unit
stage "sim integration, golden, interop" integration
stage "HARs validate" scripts/har/check.sh
stage "captures in tshark" scripts/pcap-check.sh
stage "report in Chromium" scripts/report-smoke.sh
stage "README commands" scripts/readme.sh
stage_times
