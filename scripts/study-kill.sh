#!/usr/bin/env bash
# A study killed at random points and resumed comes to the same database as one that nobody disturbs.
# scripts/study-kill.sh [--program FILE] [--study NAME] [--kills N] [--seed N] [-- OPTION...]
#   --program  the program (default: the release build, else the debug build, whichever is newer)
#   --study    which study (default: kallio2016); --kills: how often it is killed (default: 20)
#   --seed     of the random points (default: 1); what follows -- goes to `study run`, such as --quick
# Compared are the digests of the runs and, row by row, journeys, visits, connections and events.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

farlink='' study=kallio2016 kills=20 seed=1
while [ $# -gt 0 ]; do
  case $1 in
    --program) farlink=$(realpath "$2"); shift 2 ;;
    --study) study=$2; shift 2 ;;
    --kills) kills=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    --) shift; break ;;
    *) die "unknown option $1" "see the head of scripts/study-kill.sh" ;;
  esac
done
[ -n "$farlink" ] || farlink=$(newest_farlink)
command -v python3 >/dev/null 2>&1 || die "python3 is not installed" "it reads the stores (module sqlite3)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# contents STORE: one line for all that a run's identity is made of.
contents() {
  python3 - "$1" <<'PYTHON'
import hashlib, sqlite3, sys

store = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
all_rows = hashlib.blake2b(digest_size=16)
counts = []
tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]
for table in tables:
    columns = [row[1] for row in store.execute(f'PRAGMA table_info("{table}")')]
    if table == "run":
        # When it ran, and for how long, is the only thing that may differ.
        columns = [name for name in columns if name in ("id", "name", "plan_digest", "digest", "journeys", "state")]
    # Ids of shared texts follow the order of completion: what they refer to is compared instead.
    shared = {row[3]: row[2] for row in store.execute(f'PRAGMA foreign_key_list("{table}")') if row[2] in ("shared_text", "object_list")}
    if table in ("shared_text", "object_list"):
        columns.remove("id")
    values = [f'(SELECT digest FROM "{shared[name]}" WHERE id = "{name}")' if name in shared else f'"{name}"' for name in columns]
    rows = sorted(repr(row) for row in store.execute(f'SELECT {", ".join(values)} FROM "{table}"'))
    counts.append(f"{table} {len(rows)}")
    all_rows.update("\n".join([table, *rows]).encode())
print(all_rows.hexdigest(), ", ".join(counts))
PYTHON
}

run=("$farlink" study run "$study" "$@")
begin=$(date +%s%N)
"${run[@]}" --store "$work/whole.sqlite" >/dev/null
took=$((($(date +%s%N) - begin) / 1000000))
expected=$(contents "$work/whole.sqlite")
printf 'undisturbed: %s.%03d s; %s\n' $((took / 1000)) $((took % 1000)) "$expected"

# Random points of the whole: each life gets a share of it, so that the kills spread over all experiments; three quarters
# together, as a machine that has less to do meanwhile would be done before the last kill.
RANDOM=$seed
killed=0
for ((life = 1; life <= kills; life++)); do
  share=$((took * 3 / 4 * 2 * (RANDOM % 1000) / 1000 / (kills + 1)))
  "${run[@]}" --store "$work/killed.sqlite" >/dev/null 2>&1 &
  child=$!
  sleep "$(printf '%d.%03d' $((share / 1000)) $((share % 1000)))"
  if kill -KILL "$child" 2>/dev/null; then killed=$((killed + 1)); fi
  wait "$child" 2>/dev/null || true
done
[ "$killed" -gt 0 ] || die "the study was over before it could be killed" "fewer --kills, or more loads"
"${run[@]}" --store "$work/killed.sqlite" >"$work/last.txt" 2>"$work/last.err"
got=$(contents "$work/killed.sqlite")
printf 'killed %s times of %s, then finished: %s; %s\n' "$killed" "$kills" "$(tail -n 2 "$work/last.txt" | head -n 1)" "$got"
[ "$got" = "$expected" ] || die "the database of the study that was killed is another one"
