#!/usr/bin/env bash
# farlink beside nginx, HAProxy, H2O, Traffic Server, Varnish, Squid and Apache, answering from memory. See docs/benchmarks.md.
#
# Usage: scripts/proxy-bench/run.sh [--rounds N] [--seconds S] [--idle N] [--only SERVER]... [--cell PROTOCOL/KIB]...
#
# As root on Debian it installs what is missing, without starting services. It runs in a network namespace of its own: the machine's
# ports are left alone, and congestion control is CUBIC (or Reno, where that may not be set) whatever the machine's default is.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_rust

# need COMMAND PACKAGE...: from Debian's packages if it is not there.
need() {
  PATH=$PATH:/usr/sbin command -v "$1" >/dev/null 2>&1 || apt_get "${@:2}" || true
}

without_services() {
  # Debian asks this file whether a new service may start.
  [ "$(id -u)" = 0 ] && [ ! -e /usr/sbin/policy-rc.d ] || return 0
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

without_services
need nginx nginx-light
need haproxy haproxy
need h2o h2o
need traffic_server trafficserver
need varnishd varnish
need hitch hitch
need squid squid
need apache2 apache2
need h2load nghttp2-client
need wrk wrk
for tool in h2load wrk python3 taskset unshare ip; do
  command -v "$tool" >/dev/null 2>&1 || die "$tool is missing" "install nghttp2-client, wrk, python3, util-linux and iproute2"
done
[ "$(nproc)" -ge 2 ] || die "there is one core" "the servers need one and the load another"

cargo build --profile dist --locked --quiet -p farlink
cargo build --profile dist --locked --quiet -p farlink-proxy --example prepared_replies

own=(unshare --net)
[ "$(id -u)" = 0 ] || own=(unshare --net --map-root-user)
setsid --wait "${own[@]}" bash -c '
  # Linux shares the cores among sessions first (sched(7), autogroup): a niced compiler in another one would else get its half.
  echo -19 2>/dev/null >/proc/self/autogroup || echo "note: other work on this machine disturbs the measurement" >&2
  ip link set lo up
  for control in cubic reno; do
    sysctl -q net.ipv4.tcp_congestion_control=$control 2>/dev/null && break
  done
  exec python3 scripts/proxy-bench/bench.py "$@"' bench "$@"
