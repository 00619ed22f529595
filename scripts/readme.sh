#!/usr/bin/env bash
# Runs the commands of README.md and of the guides as they are printed, from the root: in each document, in the order of the file,
#
#   <!-- run -->               the ```sh block below
#   <!-- run needs A B -->     the same if A and B are there: commands, Python modules, or `emulation`; skipped if not, failed in CI
#   <!-- file out/FILE -->     writes the block below to that file
#
# It fails when a command fails, or when a document has none. `farlink` is the program built last of target/release and target/debug.
#
# Usage: scripts/readme.sh [DOCUMENT...]
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- README.md docs/index.md docs/start/*.md docs/guides/*.md

newest=$(newest_farlink)
python_modules
export PATH=$(dirname "$newest"):$PATH

# Where scripts/demo.sh, which README.md begins with, has put its results.
mkdir -p out
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT

# One script a marked block, and beside it what the block needs. A prompt ($ ) before a command is left out.
extract() {
  awk -v folder="$blocks" '
    function broken(why) { printf "error: %s:%d: %s\n", FILENAME, NR, why > "/dev/stderr"; failed = 1; exit 1 }
    /^<!-- run( needs .*)? -->[[:space:]]*$/ { marked = "run"; needs = $0; gsub(/<!-- run( needs)?|-->/, "", needs); next }
    /^<!-- file [^ ]+ -->[[:space:]]*$/ { marked = "file"; path = $3; next }
    marked && /^```/ {
      if (marked == "run" && !/^```sh[[:space:]]*$/) broken("a mark <!-- run --> stands right above a block that begins with ```sh")
      script = sprintf("%s/%03d.sh", folder, ++count)
      print needs > (script ".needs"); close(script ".needs")
      if (marked == "file") printf "cat >%s <<\"END OF FILE\"\n", path > script
      kind = marked; marked = ""; needs = ""; next
    }
    marked { broken("a mark stands right above a block") }
    script && /^```/ { if (kind == "file") print "END OF FILE" > script; close(script); script = ""; next }
    script { if (kind == "run") sub(/^\$ /, ""); print > script }
    END { if (!failed && script) broken("the block has no end") }
  ' "$1"
}

# The things of a list that are not there.
lacking() {
  local thing
  for thing in "$@"; do
    case $thing in
      emulation) farlink shell --network rtt=1ms,down=10mbit,up=10mbit -- true >/dev/null 2>&1 || printf '%s ' "$thing" ;;
      playwright | selenium) python3 -c "import $thing" 2>/dev/null || printf '%s ' "$thing" ;;
      *) command -v "$thing" >/dev/null 2>&1 || printf '%s ' "$thing" ;;
    esac
  done
}

# run_blocks DOCUMENT: runs what was extracted.
run_blocks() {
  local document=$1 block lacks begin count=0 skipped=0
  for block in "$blocks"/*.sh; do
    [ -f "$block" ] || die "$document has no command to run" "mark a block with a line <!-- run --> above it"
    # shellcheck disable=SC2046 # names of things have no spaces
    lacks=$(lacking $(cat "$block.needs"))
    if [ -n "$lacks" ]; then
      [ "${CI:-}" = true ] && die "a command of $document needs ${lacks% }"
      printf '\nskipped, for want of %s:\n' "${lacks% }"
      cat "$block"
      skipped=$((skipped + 1))
      continue
    fi
    begin=$SECONDS
    printf '\n'
    # -v prints each command as it is read.
    bash -euv -o pipefail "$block" </dev/null 2>&1 || die "a command of $document failed: see above"
    printf '(%s s)\n' $((SECONDS - begin))
    count=$((count + 1))
  done
  summary+=("$(printf '%3s ran, %s skipped, %3s s  %s' "$count" "$skipped" $((SECONDS - start)) "$document")")
}

summary=()
for document in "$@"; do
  [ -f "$document" ] || die "there is no $document" "name the documents: scripts/readme.sh FILE..."
  rm -f "$blocks"/*
  start=$SECONDS
  extract "$document"
  run_blocks "$document"
done
printf '\n== blocks\n'
printf '%s\n' "${summary[@]}"
