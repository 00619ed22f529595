#!/usr/bin/env bash
# Sets everything up and runs the main job: an experiment over real-sized pages that ends in a report.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust
cargo build --release --locked
farlink=target/release/farlink
mkdir -p out
"$farlink" run examples/first.toml --store out/first.sqlite
"$farlink" report --store out/first.sqlite -o out/report.html
printf '\nOpen out/report.html in a browser. To load one page:\n  %s load bth2013 --network 3g --protocol h1,h2\n' "$farlink"
