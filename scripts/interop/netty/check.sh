#!/usr/bin/env bash
# SPDY/3.1 of both ends against Netty's codec (Maven), in clear text and TLS: many streams, large heads, full windows, push.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=scripts/interop/netty
need javac default-jdk-headless
need mvn maven

jars=$tools/netty/jars
if ! cmp -s "$here/pom.xml" "$tools/netty/pom.xml"; then
  rm -rf "$tools/netty"
  mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$jars" >"$work/maven" 2>&1 || { cat "$work/maven"; missing netty; }
  cp "$here/pom.xml" "$tools/netty/pom.xml"
fi
javac -d "$tools/netty/classes" -cp "$jars/*" "$here/Peer.java"
netty=(java -cp "$jars/*:$tools/netty/classes" Peer)

for security in none tls12 tls13; do
  start "${netty[@]}" serve $security "$assets/rsa-chain.pem" "$assets/rsa-key.pem" "$files"
  line=$(heard '^listening on')
  port=${line##* }
  ours_fetches "Netty, 200 streams" spdy $security 50
  ours_fetches "Netty, windows of 65,536" spdy $security 10 --window 65536
  ours_fetches "Netty, heads of 12,000 bytes" spdy $security 5 --header 12000
  # Its windows have 64 KB.
  ours_posts Netty spdy $security 300000 20
  # A push is refused and disturbs nobody.
  responses 5 push/small >"$work/expected"
  "${limit[@]}" "$peer" fetch spdy $security "127.0.0.1:$port" /push/small --times 5 >"$work/seen"
  same "Netty pushes" "$work/expected" "$work/seen"
  heard '^push refused: REFUSED_STREAM' >/dev/null
  stop

  serve_ours spdy $security --streams 200 --header 12000
  client=("${netty[@]}" fetch $security "$assets/rsa-root.pem" "$port")
  responses 50 "${all[@]}" >"$work/expected"
  "${limit[@]}" "${client[@]}" 50 12000 "${all[@]/#//}" >"$work/seen" || die "Netty's client failed"
  same "Netty's client over $security, 200 streams at once, heads of 12,000 bytes" "$work/expected" "$work/seen"
  theirs_posts "Netty's client over $security" 300000 "${netty[@]}" post $security "$assets/rsa-root.pem" "$port" 1 300000
  stop
  # Our windows at their least: 64 KB for what it uploads.
  serve_ours spdy $security --window 65536
  theirs_posts "Netty's client over $security, windows of 65,536" 1000000 "${netty[@]}" post $security "$assets/rsa-root.pem" "$port" 1 1000000
  stop
done
