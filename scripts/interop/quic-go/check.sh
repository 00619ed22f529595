#!/usr/bin/env bash
# HTTP/3 of both ends against quic-go (a Go module), with resumption and early data.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=scripts/interop/quic-go
need go golang-go

program=$tools/quic-go-peer
go build -C "$here" -o "$program" . || missing quic-go

start "$program" serve "$assets/rsa-chain.pem" "$assets/rsa-key.pem" "$files"
line=$(heard '^listening on')
port=${line##* }
ours_fetches quic-go h3 tls13 50
ours_fetches "quic-go, windows of 20,000" h3 tls13 5 --window 20000
ours_posts quic-go h3 tls13 300000 10
# The second connection resumes the first one's session; only the server knows whether early data was taken.
"${limit[@]}" "$peer" fetch h3 tls13 "127.0.0.1:$port" /small --connections 2 >"$work/seen"
heard '^early data' >/dev/null
echo "ok: quic-go took our early data"
stop

serve_ours h3 tls13
theirs_fetches "quic-go's client, then with early data" "$program" fetch "$assets/rsa-root.pem" "$port" "${all[@]/#//}"
theirs_posts "quic-go's client" 300000 "$program" post "$assets/rsa-root.pem" "$port" 300000
