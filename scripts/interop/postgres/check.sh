#!/usr/bin/env bash
# A store in a real PostgreSQL server: the digests of a SQLite file; two runners at a time; the server killed in mid-run; parts merged
# from and into it; tables and the SQL view read.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need psql postgresql
need sqlite3 sqlite3
# Debian has the server's programs outside PATH.
PATH=$(find /usr/lib/postgresql -name pg_ctl -printf '%h\n' 2>/dev/null | sort -V | tail -1):$PATH
need pg_ctl postgresql
farlink=$(newest_farlink)
data=$work/data
# The server refuses to run as root.
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; else "$@"; fi; }
mkdir -p "$data"
chmod 711 "$work"
[ "$(id -u)" != 0 ] || chown 65534:65534 "$data"
as initdb --pgdata "$data/db" --username farlink --auth trust --encoding UTF8 --no-sync >"$work/initdb.log" 2>&1 || { cat "$work/initdb.log"; exit 1; }
port=$(free_port)
start_server() { as pg_ctl --pgdata "$data/db" --wait --silent --log "$data/log" --options "-c listen_addresses=127.0.0.1 -p $port -k $data" start; }
stop_server() { as pg_ctl --pgdata "$data/db" --wait --silent --mode "$1" stop || true; }
start_server
trap 'stop_server immediate; finish' EXIT
for database in plain two killed merged; do createdb --host 127.0.0.1 --port "$port" --username farlink "$database"; done
url() { echo "postgres://farlink:none@127.0.0.1:$port/$1"; }
query() { psql --host 127.0.0.1 --port "$port" --username farlink --no-align --tuples-only --command "$2" "$1"; }
digest_of() { "$farlink" runs --store "$1" | awk '$1 == 1 { print $NF }'; }
same() { [ "$(digest_of "$2")" = "$expected" ] || die "$1: digest $(digest_of "$2") instead of $expected"; echo "$1: the digest of SQLite's, $expected"; }
cat >"$work/e.toml" <<END
format = 1
name = "postgres"
repetitions = 60
record = "windows,throughput"
[page]
name = "synthetic:12x10KB"
[network]
base = ["3g", "cable"]
loss = "1%"
[stack]
protocol = ["h1", "h2", "h3"]
END
cd "$work"
"$farlink" run e.toml --store file.sqlite >answer 2>&1
expected=$(digest_of file.sqlite)

"$farlink" run e.toml --store "$(url plain)" >answer.postgres 2>said
same "one runner" "$(url plain)"
"$farlink" report --store "$(url plain)" -o report.html 2>/dev/null
if grep -rq none@ said answer.postgres report.html; then die "a password was printed"; fi
for table in visits objects critical_steps windows; do
  "$farlink" export --store file.sqlite --table $table --csv file.csv 2>/dev/null
  "$farlink" export --store "$(url plain)" --table $table --csv server.csv 2>/dev/null
  cmp file.csv server.csv
done
echo "tables are equal"
sql="SELECT count(*), sum(wait_ns), sum(body_bytes), sum(CASE WHEN blocks_render THEN 1 ELSE 0 END) FROM object"
[ "$(query plain "$sql")" = "$(sqlite3 file.sqlite "$sql")" ] || die "view object differs"
echo "view object is equal: $(query plain "$sql")"

"$farlink" run e.toml --jobs 1 --shard 1/2 --store "$(url two)" >/dev/null 2>&1 &
"$farlink" run e.toml --jobs 1 --store "$(url two)" >/dev/null 2>&1
wait $! || die "the second runner failed"
[ "$(query two 'SELECT count(*) FROM run')" = 1 ] || die "two runners made two runs"
same "two runners" "$(url two)"

"$farlink" run e.toml --store "$(url killed)" >/dev/null 2>said &
runner=$!
for kill in 1 2 3; do
  before=$(query killed "SELECT count(*) FROM stored_journey" 2>/dev/null || echo 0)
  until [ "$(query killed "SELECT count(*) FROM stored_journey" 2>/dev/null || echo 0)" -gt "$((before + 20))" ]; do
    kill -0 $runner 2>/dev/null || break
    sleep 0.05
  done
  stop_server immediate
  start_server
  echo "server killed with $(query killed 'SELECT count(*) FROM stored_journey') journeys stored"
done
wait $runner || { cat said; die "the run did not survive the server"; }
same "server killed three times" "$(url killed)"

for shard in 1 2 3; do "$farlink" run e.toml --shard $shard/3 --store part-$shard.sqlite >/dev/null 2>&1; done
"$farlink" merge part-2.sqlite part-3.sqlite part-1.sqlite --into "$(url merged)" >/dev/null 2>&1
same "files merged into the server" "$(url merged)"
"$farlink" merge "$(url merged)" --into copy.sqlite >/dev/null 2>&1
same "the server merged into a file" copy.sqlite
