#!/usr/bin/env bash
# HTTP/3 of both ends against aioquic (PyPI), with resumption and early data.
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
