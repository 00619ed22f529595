#!/usr/bin/env bash
# Runs the commands of README.md as they are printed: every ```sh block below a line `<!-- run -->`, from
# the root, in the order of the file. It fails when a command fails, or when there is none to run.
#
# `farlink` is the program built last of target/release and target/debug; another document may be named.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
document=${1:-README.md}
[ -f "$document" ] || die "there is no $document" "name the document: scripts/readme.sh FILE"

newest=$(ls -t target/release/farlink target/debug/farlink 2>/dev/null | head -n 1 || true)
[ -n "$newest" ] || die "farlink is not built" "cargo build --release"
export PATH=$root/$(dirname "$newest"):$PATH

blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT

# One file a marked block; a prompt ($ ) before a command is left out.
awk -v folder="$blocks" '
  function broken(why) { printf "error: %s:%d: %s\n", FILENAME, NR, why > "/dev/stderr"; failed = 1; exit 1 }
  /^<!-- run -->[[:space:]]*$/ { marked = 1; next }
  marked && /^```sh[[:space:]]*$/ { file = sprintf("%s/%03d.sh", folder, ++count); marked = 0; next }
  marked { broken("a mark <!-- run --> stands right above a block that begins with ```sh") }
  file && /^```/ { close(file); file = ""; next }
  file { sub(/^\$ /, ""); print > file }
  END { if (!failed && file) broken("the block has no end") }
' "$document"

count=0
for block in "$blocks"/*.sh; do
  [ -f "$block" ] || die "$document has no command to run" "mark a block with a line <!-- run --> above it"
  begin=$SECONDS
  printf '\n'
  # -v prints each command as it is read.
  bash -euv -o pipefail "$block" </dev/null 2>&1 || die "a command of $document failed: see above"
  printf '(%s s)\n' $((SECONDS - begin))
  count=$((count + 1))
done
printf '\n%s blocks of %s ran\n' "$count" "$document"
