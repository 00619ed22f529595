#!/usr/bin/env bash
# Tables of a run in DuckDB, pandas and Polars: the queries of docs/tables.md run, and all read the same numbers as `farlink report`.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
python=$(python_environment tables scripts/tables/requirements.txt) || { echo "skipped: DuckDB, pandas and Polars cannot be installed"; exit 0; }
farlink=$(newest_farlink)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$farlink" run examples/first.toml --set repetitions=5 --set 'record="windows,throughput,packets,departures"' --store "$work/store.sqlite" >"$work/answer"
for format in parquet arrow csv; do "$farlink" export --store "$work/store.sqlite" --table all "--$format" "$work/$format"; done
"$python" scripts/tables/check.py docs/tables.md "$work"
