#!/usr/bin/env bash
# Archives that farlink writes, against wacz, warcio and pywb (PyPI); one that warcio writes, against farlink.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=scripts/interop/warc
need python3 python3 python3-venv
command -v chromium >/dev/null 2>&1 || need chromium chromium

bin=$tools/warc/bin
if ! cmp -s "$here/requirements.txt" "$tools/warc/requirements.txt"; then
  rm -rf "$tools/warc"
  { python3 -m venv "$tools/warc" && "$bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"; } || missing "pywb, wacz or warcio"
  cp "$here/requirements.txt" "$tools/warc/requirements.txt"
fi
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
farlink=$root/target/debug/farlink
site=$root/$here/site
page=(index.html style.css script.js data.json one.svg two.svg)

# url FILE: where the site has it.
url() { echo "http://127.0.0.1:$port/${1#index.html}"; }

port=$(free_port)
start python3 -m http.server --bind 127.0.0.1 --directory "$site" "$port"
accepts "$port"

"$farlink" record "$(url index.html)" -o "$work/site.wacz"
"$bin/wacz" validate -f "$work/site.wacz" | grep -q 'Validation succeeded' || die "wacz rejects our archive"
echo "ok: wacz validates our archive"
(cd "$work" && python3 -m zipfile -e site.wacz unpacked)
warc=$work/unpacked/archive/data.warc.gz
"$bin/warcio" check "$warc" || die "warcio finds wrong digests in our archive"
echo "ok: warcio checks our records"
for file in "${page[@]}"; do
  "$farlink" archive cat "$work/site.wacz" "$(url "$file")" | cmp - "$site/$file" || die "$file is not as it was served"
done
echo "ok: our archive has ${#page[@]} bodies as they were served"

mkdir "$work/pywb"
(cd "$work/pywb" && "$bin/wb-manager" init site && "$bin/wb-manager" add site "$warc") >"$work/pywb.log" 2>&1 || { cat "$work/pywb.log" >&2; die "pywb does not take our records"; }
replay=$(free_port)
start env -C "$work/pywb" "$bin/wayback" --bind 127.0.0.1 --port "$replay"
accepts "$replay"
for file in "${page[@]}"; do
  curl -sfL --max-time 30 "http://127.0.0.1:$replay/site/id_/$(url "$file")" | cmp - "$site/$file" || die "pywb does not replay $file"
done
echo "ok: pywb replays ${#page[@]} bodies of our archive"
stop

urls=()
for file in "${page[@]}"; do urls+=("$(url "$file")"); done
"$bin/python" "$here/record.py" "$work/theirs.warc.gz" "${urls[@]}"
for file in "${page[@]}"; do
  "$farlink" archive cat "$work/theirs.warc.gz" "$(url "$file")" | cmp - "$site/$file" || die "$file of warcio's archive is not as it was served"
done
"$farlink" pages show "$work/theirs.warc.gz" >"$work/shown"
grep -q '5 read in bodies' "$work/shown" || { cat "$work/shown" >&2; die "the dependencies of warcio's page are not those of its bodies"; }
echo "ok: warcio's archive is a page, with the dependencies that its bodies name"
