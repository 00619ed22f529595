#!/usr/bin/env bash
# HTTP/3 of both ends, and of the proxy, against aioquic (PyPI), with resumption and early data.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=scripts/interop/aioquic
need python3 python3 python3-venv

python=$tools/aioquic/bin/python
stamp=$tools/aioquic/requirements.txt
if ! cmp -s "$here/requirements.txt" "$stamp"; then
  rm -rf "$tools/aioquic"
  { python3 -m venv "$tools/aioquic" && "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"; } ||
    missing aioquic
  cp "$here/requirements.txt" "$stamp"
fi
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

start "$python" "$here/peer.py" serve "$assets/rsa-chain.pem" "$assets/rsa-key.pem" "$files"
line=$(heard '^listening on')
port=${line##* }
ours_fetches aioquic h3 tls13 20
ours_fetches "aioquic, windows of 20,000" h3 tls13 3 --window 20000
ours_posts aioquic h3 tls13 300000 3
# The second connection resumes the first one's session; only the server knows whether early data was taken.
"${limit[@]}" "$peer" fetch h3 tls13 "127.0.0.1:$port" /small --connections 2 >"$work/seen"
heard '^early data' >/dev/null
echo "ok: aioquic took our early data"
stop

serve_ours h3 tls13
theirs_fetches "aioquic's client, then with early data" "$python" "$here/peer.py" fetch "$port" "${all[@]/#//}"
theirs_posts "aioquic's client" 300000 "$python" "$here/peer.py" post "$port" 300000
stop

# The proxy's port, with two workers, before an origin that speaks HTTP/1.1.
serve_ours h1 none
proxy_port=$(free_port)
cat >"$work/proxy.toml" <<TOML
workers = 2
[[listen]]
address = "127.0.0.1:$proxy_port"
tls = { certificate = "$root/$assets/rsa-chain.pem", key = "$root/$assets/rsa-key.pem" }
http3 = true
[[reverse]]
origins = ["http://127.0.0.1:$port"]
[cache]
memory = "16MiB"
TOML
start target/debug/farlink proxy --config "$work/proxy.toml"
heard '^listening on' >/dev/null
theirs_fetches "aioquic's client of the proxy" "$python" "$here/peer.py" late-fetch "$proxy_port" "${all[@]/#//}"
theirs_posts "aioquic's client of the proxy" 300000 "$python" "$here/peer.py" late-post "$proxy_port" 300000
stop

# The same port as a forward proxy's: tunnels inside HTTP/3.
cat >"$work/proxy.toml" <<TOML
workers = 2
[[listen]]
address = "127.0.0.1:$proxy_port"
tls = { certificate = "$root/$assets/rsa-chain.pem", key = "$root/$assets/rsa-key.pem" }
http3 = true
[forward]
networks = ["127.0.0.0/8"]
tunnel_ports = [$port]
TOML
start target/debug/farlink proxy --config "$work/proxy.toml"
heard '^listening on' >/dev/null
theirs_fetches "aioquic's client through tunnels of the proxy" "$python" "$here/peer.py" tunnel "$proxy_port" "127.0.0.1:$port" "${all[@]/#//}"
