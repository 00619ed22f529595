#!/usr/bin/env bash
# Sets everything up and runs all tests: what continuous integration runs.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust
# Everything is built once; what would be kept for the next build takes gigabytes.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

tools() {
  command -v node >/dev/null 2>&1 || apt_get nodejs npm || true
  command -v chromium >/dev/null 2>&1 || apt_get chromium || true
  command -v chromedriver >/dev/null 2>&1 || apt_get chromium-driver || true
  command -v nghttp >/dev/null 2>&1 || apt_get nghttp2-client || true
  command -v curl >/dev/null 2>&1 || apt_get curl || true
  command -v tshark >/dev/null 2>&1 || apt_get tshark || true
  command -v ip >/dev/null 2>&1 || apt_get iproute2 || true
  command -v ping >/dev/null 2>&1 || apt_get iputils-ping || true
  command -v iperf3 >/dev/null 2>&1 || apt_get iperf3 || true
  command -v nft >/dev/null 2>&1 || apt_get nftables || true
  command -v jq >/dev/null 2>&1 || apt_get jq || true
  command -v sqlite3 >/dev/null 2>&1 || apt_get sqlite3 || true
  if [ "${CI:-}" = true ]; then
    for tool in node npm chromium chromedriver nghttp curl tshark ip ping iperf3 nft jq sqlite3; do
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
  scripts/advisories/check.sh
}

# The fuzz targets are a workspace of their own.
fuzz() { cargo check --quiet --manifest-path fuzz/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}/fuzz"; }

# Everything is built for the whole workspace, here and in the scripts: a crate alone has other features, and is built anew with all below it.
arrows() { cargo test --workspace --locked --test arrows; }
unit() { cargo test --workspace --locked --lib --bins; }

# The integration tests of all crates but the emulator's. Cargo would run them, too, without that crate; but that builds everything anew, for
# fewer features are asked for.
integration() {
  local built program folder failed=0
  built=$(cargo test --workspace --locked --test '*' --no-run --quiet --message-format json) || return 1
  while IFS=$'\t' read -r program folder; do
    printf '     Running %s\n' "${program##*/}"
    (cd "$folder" && "$program" --skip real_time) || failed=1
  done < <(jq -r 'select(.executable and .target.kind == ["test"] and (.package_id | contains("/crates/emu#") | not))
    | [.executable, (.manifest_path | rtrimstr("/Cargo.toml"))] | @tsv' <<<"$built")
  return "$failed"
}

# The kernel's TCP in namespaces: in real time, so nothing else runs beside it.
emu() {
  # What root would run as an ordinary user, the ordinary user runs.
  local as_root=(--exact --skip as_an_ordinary_user)
  real_time emu --nocapture
  # What compares both worlds does not depend on the user.
  as_root=(--skip the_same_in_both_worlds)
  real_time farlink real_time
}

# real_time CRATE ARGUMENT...: its integration tests with these arguments, one after the other; if root runs this, with those of $as_root, too,
# and once more by somebody who has no rights. Programs are copied to where that user may read them.
real_time() {
  local crate=$1 built program
  shift
  built=$(cargo test --workspace --locked --test '*' --no-run --quiet --message-format json | grep -F "/crates/$crate#" | grep -F '"kind":["test"]')
  mkdir -p "$ordinary/test" "$ordinary/bin"
  # shellcheck disable=SC2046 # paths of programs have no spaces
  cp $(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' <<<"$built") "$ordinary/test/"
  cp target/debug/farlink "$ordinary/bin/"
  chmod -R a+rX "$ordinary"
  export FARLINK_PROGRAM="$ordinary/bin/farlink"
  for program in "$ordinary"/test/*; do
    if ! { [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; }; then
      (cd / && patiently "$program" "$@" --test-threads 1)
      continue
    fi
    (cd / && patiently "$program" "$@" "${as_root[@]}" --test-threads 1)
    (cd / && HOME=/nonexistent patiently setpriv --reuid 65534 --regid 65534 --clear-groups "$program" "$@" --test-threads 1)
  done
  rm -rf "${ordinary:?}"/*
}

# Runs a program of tests. A failed test is run again, twice at most: a shared machine may stand still for a while, which no
# measurement in real time survives. Every repeat is recorded in $repeats, and printed at the end.
patiently() {
  local failed='' exact=--exact pause name log="$ordinary/log"
  case " $* " in *" --exact "*) exact= ;; esac
  for pause in 0 15 90; do
    sleep "$pause"
    # shellcheck disable=SC2086 # names of tests have no spaces
    "$@" ${failed:+$exact $failed} 2>&1 | tee "$log" && return
    failed=$(sed -n '/^failures:$/,/^test result/s/^    \([a-z0-9_:]*\)$/\1/p' "$log" | sort -u)
    [ -n "$failed" ] || return 1
    for name in $failed; do
      printf '%s\t%s\t%s\n' "$build" "$([ "$1" = setpriv ] && echo user || id -un)" "$name" >>"$repeats"
    done
    printf '== failed in real time: %s\n' "$failed"
  done
  return 1
}

# Failures of real-time tests in this build, a line a test: how often it failed, as whom. Two failures are repeats, three are a failed test.
print_repeats() {
  printf '\n== failed and repeated in real time (earlier builds: %s)\n' "$repeats"
  grep -F "$build" "$repeats" 2>/dev/null | cut -f 2- | sort | uniq -c || true
  grep -qF "$build" "$repeats" 2>/dev/null || echo "none"
}

# The simulation against the emulation, and the loader against Chromium where there is one.
validation() {
  local without=()
  command -v chromium >/dev/null 2>&1 || without=(--without-chromium)
  target/debug/farlink validate quick "${without[@]}" --store "$ordinary/quick.sqlite" --output "$ordinary/quick.html"
  rm -rf "${ordinary:?}"/*
}

ordinary=$(mktemp -d)
stages=$(mktemp)
repeats="${CARGO_TARGET_DIR:-target}/real-time-repeats.tsv"
case $repeats in /*) ;; *) repeats="$PWD/$repeats" ;; esac
build="$(date -u +%FT%TZ) $(git rev-parse --short HEAD 2>/dev/null || echo unversioned)"
mkdir -p "$(dirname "$repeats")"
trap 'print_repeats; rm -rf "$ordinary" "$stages"' EXIT

stage "tools" tools
stage "fmt" cargo fmt --check
stage "clippy" cargo clippy --workspace --all-targets --locked -- -D warnings
stage "fuzz targets compile" fuzz
stage "crate arrows" arrows
stage "cargo-deny" deny
stage "unit and property" unit
stage "sim integration, golden, interop" integration
stage "emu, as root and as a user" emu
stage "simulated against emulated" validation

# Peers that we did not write.
peers() {
  local peer
  stage "SPDY against npm spdy" scripts/spdy/check.sh
  for peer in h2spec nghttp2 node nginx apache raw-socket netty aioquic quic-go; do
    stage "interop: $peer" "scripts/interop/$peer/check.sh"
  done
}

# Results as others read them.
readers() {
  local peer
  for peer in warc perfetto postgres; do stage "interop: $peer" "scripts/interop/$peer/check.sh"; done
  stage "tables in DuckDB, pandas, Polars" scripts/tables/check.sh
  stage "HARs validate" scripts/har/check.sh
  stage "captures in tshark" scripts/pcap-check.sh
  stage "report in Chromium" scripts/report-smoke.sh
  stage "ui in Chromium" scripts/ui/check.sh
  stage "studies, quick" scripts/studies-quick.sh --program target/debug/farlink
  stage "a study killed and resumed" scripts/study-kill.sh --study petuchowski2015 -- --quick
  stage "documentation site" scripts/docs.sh
}

side_by_side peers readers
stage "README commands" scripts/readme.sh
stage "Python package" scripts/python/check.sh
stage_times
