#!/usr/bin/env bash
# Builds the released programs: static (musl) binaries with checksums, in target/release-programs.
#
#   scripts/release.sh [TARGET...]     default: x86_64-unknown-linux-musl aarch64-unknown-linux-musl
#
# Zig compiles the C parts (SQLite, QuickJS, ring) for either target. It comes from PyPI, cargo-zigbuild from crates.io.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_rust
[ $# -gt 0 ] || set -- x86_64-unknown-linux-musl aarch64-unknown-linux-musl

version=$(cargo metadata --locked --no-deps --format-version 1 | grep -o '"name":"farlink","version":"[^"]*"' | cut -d'"' -f8)
out=target/release-programs
mkdir -p "$out"

command -v rustup >/dev/null 2>&1 || die "rustup is not installed" "install it from https://rustup.rs: it fetches the targets' standard library"
for target in "$@"; do
  rustup target list --installed | grep -qx "$target" || rustup target add "$target"
done
command -v cargo-zigbuild >/dev/null 2>&1 || cargo install --locked --quiet cargo-zigbuild@0.24.1
[ -x target/zig/bin/python3 ] || python3 -m venv target/zig
target/zig/bin/python3 -c 'import ziglang' 2>/dev/null || target/zig/bin/pip install --quiet ziglang==0.15.2
export PATH="$root/target/zig/bin:$PATH"

for target in "$@"; do
  cargo zigbuild --locked --quiet --profile dist --target "$target" -p farlink
  name=farlink-$version-$target
  rm -rf "${out:?}/$name"
  mkdir -p "$out/$name" "$out/${target%%-*}"
  cp "target/$target/dist/farlink" README.md LICENSE-MIT LICENSE-APACHE "$out/$name/"
  cp "target/$target/dist/farlink" "$out/${target%%-*}/"
  tar --sort=name --owner=0 --group=0 --numeric-owner -C "$out" -czf "$out/$name.tar.gz" "$name"
  rm -rf "${out:?}/$name"
done

(cd "$out" && sha256sum farlink-"$version"-*.tar.gz >SHA256SUMS && cat SHA256SUMS)
