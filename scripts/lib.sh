# What the scripts share: a machine made ready, stages timed.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

die() {
  printf 'error: %s\n' "$1" >&2
  [ -n "${2:-}" ] && printf '\nhint: %s\n' "$2" >&2
  exit 1
}

# Debian packages, if the machine is Debian's and we may: apt_get PACKAGE...
apt_get() {
  command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || return 1
  # Stages side by side may both install something.
  local install=(apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends)
  "${install[@]}" "$@" >/dev/null 2>&1 && return 0
  apt-get update >/dev/null 2>&1 && "${install[@]}" "$@" >/dev/null
}

# A toolchain that builds farlink.
need_rust() {
  command -v cargo >/dev/null 2>&1 || die "cargo is not installed" \
    "install Rust 1.95 or later: https://rustup.rs, or your system's packages"
  command -v cc >/dev/null 2>&1 || apt_get gcc libc6-dev || die "there is no C compiler (cc)" \
    "SQLite is compiled from C: install gcc or clang"
}

# The farlink that was built last, debug or release.
newest_farlink() {
  local built newest=
  for built in "$root"/target/{release,debug}/farlink; do
    [ -x "$built" ] && { [ -z "$newest" ] || [ "$built" -nt "$newest" ]; } && newest=$built
  done
  [ -n "$newest" ] || die "farlink is not built" "cargo build --release --bin farlink"
  echo "$newest"
}

# Python modules of guides and checks, in an environment of their own; CI makes it.
python_modules() {
  local modules=$root/target/guides
  if [ "${CI:-}" = true ] && ! cmp -s scripts/docs/requirements.txt "$modules/requirements.txt"; then
    python3 -m venv "$modules"
    "$modules/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/docs/requirements.txt
    cp scripts/docs/requirements.txt "$modules/requirements.txt"
  fi
  export PATH=$modules/bin:$PATH
}

# python_environment NAME REQUIREMENTS: prints the Python of an environment with these modules under target/, which is made if needed.
python_environment() {
  local folder=${CARGO_TARGET_DIR:-$root/target}/python/$1
  if ! cmp -s "$2" "$folder/requirements.txt"; then
    rm -rf "$folder"
    python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2" >&2 || return 1
    cp "$2" "$folder/requirements.txt"
  fi
  echo "$folder/bin/python"
}

# stage NAME COMMAND...: runs it, and notes in the file $stages how long it took.
stage() {
  local name=$1 begin=$SECONDS failed
  shift
  printf '\n== %s\n' "$name"
  # Not as a condition: bash would take no notice of failures within.
  set +e
  (set -e; "$@")
  failed=$?
  set -e
  [ "$failed" = 0 ] || { printf '== %s FAILED after %s s\n' "$name" $((SECONDS - begin)); exit 1; }
  printf '== %s took %s s\n' "$name" $((SECONDS - begin))
  printf '%5s s  %s\n' $((SECONDS - begin)) "$name" >>"$stages"
}

# side_by_side LIST LIST: two functions with stages of which none needs the machine for itself. The output of the first comes last.
side_by_side() {
  local log first second failed=0
  log=$(mktemp)
  "$1" >"$log" 2>&1 &
  first=$!
  "$2" &
  second=$!
  # Not as a condition, as above.
  set +e
  wait "$second"
  [ $? = 0 ] || failed=1
  wait "$first"
  [ $? = 0 ] || failed=1
  set -e
  cat "$log"
  rm -f "$log"
  [ "$failed" = 0 ] || exit 1
}

stage_times() {
  printf '\n== seconds a stage\n'
  cat "$stages"
}
