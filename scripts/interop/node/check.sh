#!/usr/bin/env bash
# Pushes over HTTP/2, both ways, against Node.js's own client and server.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need node nodejs
node=scripts/interop/node/peer.mjs

serve_ours h2 tls13 --push middle
"${limit[@]}" node $node fetch "https://127.0.0.1:$port" /empty >"$work/seen" || die "node's client failed"
{ responses 1 empty; echo "$(responses 1 middle) pushed"; } | sort >"$work/expected"
sort -o "$work/seen" "$work/seen"
same "node's client takes what we push" "$work/expected" "$work/seen"
stop

port=$(free_port)
start node $node serve "$port" "$files" "$assets/rsa-key.pem" "$assets/rsa-chain.pem"
accepts "$port"
"${limit[@]}" "$peer" fetch h2 tls13 "127.0.0.1:$port" /empty /middle --take-pushes >"$work/seen" || die "node's push: our client failed"
{ responses 1 empty; echo "$(responses 1 middle) pushed"; } >"$work/expected"
same "node pushes, our client takes it" "$work/expected" "$work/seen"
stop
