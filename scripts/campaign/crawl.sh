#!/usr/bin/env bash
# A crawl: every recorded page of a folder x 6 protocols x 8 networks x 5 seeds, as one experiment, and its findings as tables.
#
#   scripts/campaign/crawl.sh FOLDER [STORE]      HARs (.har, .har.gz) of FOLDER; default store: out/crawl.sqlite
#
# It can be interrupted; the same command goes on. The findings need Python 3 with venv (DuckDB from PyPI).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
folder=${1:?"the folder with the HARs"}
store=${2:-out/crawl.sqlite}
farlink=$(newest_farlink)
mkdir -p out "$(dirname "$store")"
cat >out/crawl.toml <<END
format = 1
name = "crawl"
repetitions = 5
keep = "visits"

[page]
name = ["$folder/*.har", "$folder/*.har.gz"]

[network]
base = ["3g", "3g-fast", "4g", "erman2013-lte", "wifi", "bth2013", "leo", "geo"]

[stack]
protocol = ["h1", "h1-pipelined", "spdy", "h2", "h3-matched", "h3-deployed"]
END
begin=$SECONDS
"$farlink" run out/crawl.toml --store "$store" || [ $? = 1 ]
echo "$((SECONDS - begin)) s"
"$farlink" export --store "$store" --table visits,journeys --parquet "${store%.sqlite}-tables"
python=$(python_environment tables scripts/tables/requirements.txt) || die "DuckDB cannot be installed" "python3 -m venv needs python3-venv"
"$python" scripts/campaign/crawl.py "${store%.sqlite}-tables"
