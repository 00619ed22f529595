#!/usr/bin/env bash
# Memory of a recording proxy: a gigabyte in forty responses over six connections, a gigabyte in one response, and a recorder that is
# killed in the middle. It prints the peak memory of the recorder and of the reader, and fails if the recorder needs more than 128 MB
# or a response that had ended is lost.
#
#   scripts/replay/large.sh [MEGABYTES]      default: 1000; needs nginx, curl, GNU time and 4 GB of disk
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
megabytes=${1:-1000}
farlink=$(newest_farlink)
folder=$(mktemp -d)
trap 'kill "$(cat nginx.pid)" 2>/dev/null; cd /; rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
mkdir www
for number in $(seq 40); do head -c "$((megabytes * 25000))" /dev/urandom >"www/$number"; done
cat www/* >whole
mv whole www/whole
cat >nginx.conf <<END
pid $folder/nginx.pid; error_log $folder/error.log; events {}
http { access_log off; server { listen 127.0.0.1:8391; root $folder/www; } }
END
nginx -c "$folder/nginx.conf"
sleep 1

# peak NAME COMMAND...: runs it, and prints and keeps its peak memory in MB
peak() {
  local name=$1
  shift
  /usr/bin/time -f %M -o time "$@" >out 2>err || { cat err; exit 1; }
  memory=$(($(tail -n 1 time) / 1000))
  echo "$name: $memory MB at most, $(tail -n 2 err | head -n 1)"
}

bodies='seq 40 | xargs -P 6 -I {} curl -sS -o /dev/null http://127.0.0.1:8391/{}'
peak 'forty responses' "$farlink" record --no-browser -o many.wacz -- sh -c "$bodies"
((memory < 128))
peak 'its list' "$farlink" archive ls many.wacz
[ "$(grep -c http://127 out)" = 40 ]
rm many.wacz
peak 'one response' "$farlink" record --no-browser -o one.wacz -- curl -sS -o /dev/null http://127.0.0.1:8391/whole
((memory < 128))
"$farlink" archive cat one.wacz http://127.0.0.1:8391/whole | cmp - www/whole
rm one.wacz

"$farlink" record --no-browser -o torn.wacz -- sh -c "$bodies" 2>err &
recorder=$!
until [ -e torn.warc.gz ] && (($(stat -c %s torn.warc.gz) > megabytes * 300000)); do sleep 0.2; done
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null || true
"$farlink" archive ls torn.warc.gz >out 2>err
echo "killed after $(($(stat -c %s torn.warc.gz) / 1000000)) MB: $(grep -c http://127 out) responses are whole. $(head -n 1 err)"
(($(grep -c http://127 out) > 5))
