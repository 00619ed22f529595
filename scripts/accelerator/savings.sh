#!/usr/bin/env bash
# What the mechanisms of `farlink proxy` bring, alone and together: recorded pages over 3G, LTE and GEO, through a proxy at the network's far
# end with the origins 50 ms behind it. Bytes on the access link, first render and load time against the plain proxy, medians over pages.
#
#   scripts/accelerator/savings.sh FOLDER [TRANSFORM] [STORE]
#
# FOLDER has the HARs (.har, .har.gz) or archives (.wacz). With the transform ~uncompressed every page is as if its origins compressed nothing.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
folder=${1:?"the folder with the pages"}
transform=${2:-}
store=${3:-out/savings${transform/\~/-}.sqlite}
farlink=$(newest_farlink)
mkdir -p "$(dirname "$store")"
pages=$(find "$folder" -maxdepth 1 \( -name '*.har' -o -name '*.har.gz' -o -name '*.wacz' \) | sort | sed 's/.*/  "&'"$transform"'",/')
[ -n "$pages" ] || die "$folder has no pages" "give a folder with .har, .har.gz or .wacz files"
cat >"${store%.sqlite}.toml" <<END
format = 1
name = "savings"
repetitions = 3
keep = "visits"
proxy_rtt = "50ms"
route = [
  "proxy",
  "proxy,compress=on",
  "proxy,compress=all",
  "caching-proxy,cache=primed",
  "caching-proxy,cache=primed,compress=all",
]

[page]
name = [
$pages
]

[network]
base = ["3g", "lte", "geo"]

[stack]
protocol = "h2"
END
"$farlink" run "${store%.sqlite}.toml" --store "$store" || [ $? = 1 ]
"$farlink" export --store "$store" --table visits --csv "${store%.sqlite}.csv"
python3 scripts/accelerator/savings.py "${store%.sqlite}.csv"
