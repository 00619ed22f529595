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
  command -v ip >/dev/null 2>&1 || apt_get iproute2 || true
  command -v ping >/dev/null 2>&1 || apt_get iputils-ping || true
  command -v iperf3 >/dev/null 2>&1 || apt_get iperf3 || true
  if [ "${CI:-}" = true ]; then
    for tool in node npm chromium nghttp curl tshark ip ping iperf3; do
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
integration() {
  cargo test --workspace --locked --tests --exclude farlink-lab --exclude farlink-emu -- --skip real_time
  cargo test --locked -p farlink-lab --tests
}

# The kernel's TCP in namespaces, as root and as an ordinary user: in real time, so nothing else runs beside it.
emu() {
  cargo test --locked -p farlink-emu --test '*' -- --nocapture --test-threads 1
  cargo test --locked -p farlink --tests -- --test-threads 1 real_time
  [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1 || return 0
  as_ordinary_user -p farlink-emu --test '*' -- --nocapture --test-threads 1
  as_ordinary_user -p farlink --tests -- --test-threads 1 real_time
}

# The simulation against the emulation, and the loader against Chromium where there is one.
validation() {
  local without=()
  command -v chromium >/dev/null 2>&1 || without=(--without-chromium)
  cargo run --locked --quiet -p farlink -- validate quick "${without[@]}" --store "$ordinary/quick.sqlite" --output "$ordinary/quick.html"
  rm -rf "${ordinary:?}"/*
}

# The tests of a crate once more, by somebody who has no rights: `cargo test` arguments, then `--` and the tests' own. Programs are copied to
# where that user may read them.
as_ordinary_user() {
  local build=() built kind programs program
  while [ "$1" != -- ]; do build+=("$1"); shift; done
  shift
  built=$(cargo test --locked "${build[@]}" --no-run --quiet --message-format json)
  for kind in test bin; do
    mkdir -p "$ordinary/$kind"
    # Not every crate has programs of each kind.
    programs=$(sed -n "/\"kind\":\[\"$kind\"\]/s/.*\"executable\":\"\([^\"]*\)\".*/\1/p" <<<"$built")
    for program in $programs; do cp "$program" "$ordinary/$kind/"; done
  done
  chmod -R a+rX "$ordinary"
  for program in "$ordinary"/test/*; do
    (cd / && setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent FARLINK_PROGRAM="$ordinary/bin/farlink" "$program" "$@")
  done
  rm -rf "${ordinary:?}"/*
}
ordinary=$(mktemp -d)
trap 'rm -rf "$ordinary"' EXIT


stage "tools" tools
stage "fmt" cargo fmt --check
stage "clippy" cargo clippy --workspace --all-targets --locked -- -D warnings
stage "crate arrows" cargo test --locked -p farlink --test arrows
stage "cargo-deny" deny
stage "unit and property" unit
stage "sim integration, golden, interop" integration
stage "emu, as root and as a user" emu
stage "simulated against emulated" validation
stage "SPDY against npm spdy" scripts/spdy/check.sh
for peer in h2spec nghttp2 node nginx apache raw-socket netty aioquic quic-go; do stage "interop: $peer" "scripts/interop/$peer/check.sh"; done
stage "HARs validate" scripts/har/check.sh
stage "captures in tshark" scripts/pcap-check.sh
stage "report in Chromium" scripts/report-smoke.sh
stage "README commands" scripts/readme.sh
stage_times
