#!/usr/bin/env bash
# Builds the documentation as a site, target/book/index.html, and checks its links.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null 2>&1 || apt_get python3 || die "python3 is not installed"

version=0.5.4
if ! command -v mdbook >/dev/null 2>&1; then
  [ "${CI:-}" = true ] || die "mdbook is not installed" "cargo install --locked mdbook@$version"
  # Little optimised: it compiles in half the time, and builds this book in a second or two.
  CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install --locked --quiet --no-default-features --features search "mdbook@$version"
fi
case $(mdbook --version) in
  *v0.5.*) ;;
  *) die "$(mdbook --version) is not mdbook 0.5" "cargo install --locked mdbook@$version" ;;
esac

rm -rf target/book
mdbook build docs
rm -f target/book/book.toml target/book/arrows.txt
python3 scripts/docs/links.py target/book docs README.md CONTRIBUTING.md CHANGELOG.md studies/README.md docs/*.md docs/*/*.md
printf 'wrote target/book/index.html\n'
