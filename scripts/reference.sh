#!/usr/bin/env bash
# Writes the documents that are made from the program: docs/cli.md, docs/data-dictionary.md, docs/exit-codes.md and docs/settings-table.md.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust
cargo build --locked -p farlink
for document in cli data-dictionary exit-codes settings-table; do
  target/debug/farlink reference "$document" >"docs/$document.md.partial"
  mv "docs/$document.md.partial" "docs/$document.md"
done
