#!/usr/bin/env bash
# Builds the Python package as a wheel that carries the farlink program.
#
# Usage: scripts/python/wheel.sh FOLDER [PROFILE]
#
# PROFILE is cargo's, `release` by default. $FARLINK names a program to carry instead of one that is built here. With
# $LIKE_TESTS the extension has the features of the workspace's tests, so that after those little is compiled again.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_rust
folder=$(realpath -m "${1:?usage: scripts/python/wheel.sh FOLDER [PROFILE]}")
profile=${2:-release}
target=${CARGO_TARGET_DIR:-$root/target}
python=$(python_environment wheel scripts/python/wheel.txt) || die "maturin cannot be installed" "python3 -m venv needs python3-venv"

program=${FARLINK:-}
if [ -z "$program" ]; then
  cargo build --locked --profile "$profile" --bin farlink
  case $profile in dev) built=debug ;; *) built=$profile ;; esac
  program=$target/$built/farlink
fi
bundled=packaging/python/src/farlink/_bin
mkdir -p "$bundled"
# Without symbols, which are nine tenths of a program for development.
strip -o "$bundled/farlink" "$program" 2>/dev/null || cp "$program" "$bundled/farlink"
chmod 755 "$bundled/farlink"

# maturin builds one package, which has fewer features than the same package in a workspace. This cargo builds it as the tests do.
if [ -n "${LIKE_TESTS:-}" ]; then
  shim=$(mktemp -d)
  trap 'rm -rf "$shim"' EXIT
  cat >"$shim/cargo" <<END
#!/bin/sh
[ "\$1" = rustc ] || exec "$(command -v cargo)" "\$@"
exec "$(command -v cargo)" build --locked --profile "$profile" --workspace --lib --test arrows --message-format json-render-diagnostics
END
  chmod +x "$shim/cargo"
  export PATH=$shim:$PATH
fi

rm -rf "$folder" && mkdir -p "$folder"
(cd packaging/python && CARGO_TARGET_DIR=$target "$python" -m maturin build --locked --profile "$profile" --out "$folder" --quiet)
ls "$folder"/*.whl
