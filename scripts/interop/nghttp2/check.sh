#!/usr/bin/env bash
# HTTP/2 of both ends against nghttp2's nghttpd, nghttp and h2load, and HTTP/1.1 against `h2load --h1`, in clear text (prior knowledge) and TLS.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need nghttpd nghttp2-server
need nghttp nghttp2-client
need h2load nghttp2-client
need python3 python3

for security in none tls12 tls13; do
  port=$(free_port)
  plain=()
  [ $security = none ] && plain=(--no-tls)
  start nghttpd --address 127.0.0.1 --htdocs "$files" "${plain[@]}" "$port" "$assets/rsa-key.pem" "$assets/rsa-chain.pem"
  accepts "$port"
  ours_fetches nghttpd h2 $security 25
  ours_fetches "nghttpd, windows of 65,535" h2 $security 5 --window 65535
  ours_fetches "nghttpd, heads of 12,000 bytes" h2 $security 5 --header 12000
  stop
done

# asked URL: nghttp saves nothing, but with one URL prints the body: each file in turn, in a frame's padding at times.
asked() {
  local name url=$1
  for name in "${all[@]}"; do
    "${limit[@]}" nghttp --no-verify-peer "${@:2}" "$url/$name" >"$work/body" 2>"$work/seen" || die "nghttp failed: $(cat "$work/seen")"
    cmp "$work/body" "$files/$name" || die "nghttp, $url/$name: other bytes came"
  done
  echo "ok: nghttp ${*:2}, $url: ${#all[@]} responses"
}

# loaded WHAT REQUESTS OPTION...: h2load's answer: all of them succeeded and every byte of their bodies came.
loaded() {
  local bytes=$((100000 * $2))
  "${limit[@]}" h2load --requests "$2" "${@:3}" "$url/middle" >"$work/seen" 2>&1 || die "h2load failed: $(cat "$work/seen")"
  grep -q "^requests: $2 total, $2 started, $2 done, $2 succeeded, 0 failed" "$work/seen" || die "$(cat "$work/seen")"
  grep -q "($bytes) data" "$work/seen" || die "$(cat "$work/seen")"
  echo "ok: h2load, $1: $2 responses"
}

for security in none tls12 tls13; do
  scheme=https
  [ $security = none ] && scheme=http
  serve_ours h2 $security --streams 200
  url=$scheme://127.0.0.1:$port
  asked "$url"
  asked "$url" --window-bits=14 --connection-window-bits=16
  asked "$url" --padding=200 --header-table-size=0 --no-dep
  loaded "h2 over $security, 200 streams at once" 400 --clients 2 --max-concurrent-streams 200
  loaded "h2 over $security, windows of 1 KB" 20 --clients 2 --max-concurrent-streams 10 --window-bits 10
  stop
done

for security in none tls13; do
  scheme=https
  [ $security = none ] && scheme=http
  serve_ours h1 $security
  url=$scheme://127.0.0.1:$port
  loaded "h1 over $security" 200 --h1 --clients 4
  loaded "h1 over $security, 16 pipelined" 400 --h1 --clients 4 --max-concurrent-streams 16
  stop
done

# Pushes, both ways. nghttp prints all bodies: that of an empty file, and what is pushed with it.
serve_ours h2 tls13 --push middle
"${limit[@]}" nghttp --no-verify-peer "https://127.0.0.1:$port/empty" >"$work/body" || die "nghttp failed"
cmp "$work/body" "$files/middle" || die "nghttp: the pushed file did not come"
"${limit[@]}" nghttp --no-verify-peer --no-push "https://127.0.0.1:$port/empty" >"$work/body" || die "nghttp failed"
[ -s "$work/body" ] && die "nghttp wants no pushes, and one came"
echo "ok: nghttp takes what we push, and refuses it"
stop

port=$(free_port)
start nghttpd --address 127.0.0.1 --htdocs "$files" --push /empty=/middle "$port" "$assets/rsa-key.pem" "$assets/rsa-chain.pem"
accepts "$port"
"${limit[@]}" "$peer" fetch h2 tls13 "127.0.0.1:$port" /empty /middle --take-pushes >"$work/seen" || die "nghttpd's push: our client failed"
{ responses 1 empty; echo "$(responses 1 middle) pushed"; } >"$work/expected"
same "nghttpd pushes, our client takes it" "$work/expected" "$work/seen"
"${limit[@]}" "$peer" fetch h2 tls13 "127.0.0.1:$port" /empty /middle >"$work/seen" || die "nghttpd's push: our client failed"
responses 1 empty middle >"$work/expected"
same "nghttpd may not push, our client asks" "$work/expected" "$work/seen"
stop
