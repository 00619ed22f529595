#!/usr/bin/env bash
# Checks Cargo.lock against the RustSec advisories: today's where GitHub can be reached, otherwise those of the snapshot beside this script.
# check.sh --update renews the snapshot.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

source_url=https://github.com/RustSec/advisory-db
snapshot=scripts/advisories/rustsec.tar.xz
snapshot_date=2026-08-21T08:28:40+02:00
# cargo-deny keeps a database in a folder named after its URL and a hash of it.
database=${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/advisory-db-3157b0e258782691

reachable() { timeout 15 git ls-remote --quiet "$source_url" HEAD >/dev/null 2>&1; }

# Lays the snapshot out as the repository that cargo-deny expects, committed at the snapshot's date.
unpack() {
  rm -rf "$database"
  mkdir -p "$database"
  tar -xJf "$snapshot" -C "$database"
  git -C "$database" init --quiet
  git -C "$database" add --all
  GIT_AUTHOR_DATE=$snapshot_date GIT_COMMITTER_DATE=$snapshot_date \
    git -C "$database" -c user.name=snapshot -c user.email=snapshot@localhost commit --quiet --message "RustSec, $snapshot_date"
}

update() {
  local clone
  clone=$(mktemp -d)
  git clone --quiet --depth 1 "$source_url" "$clone"
  git -C "$clone" archive HEAD crates LICENSE.txt LICENSES | xz -9e >"$snapshot"
  sed -i "s/^snapshot_date=.*/snapshot_date=$(git -C "$clone" log -1 --format=%cI)/" "$root/scripts/advisories/check.sh"
  rm -rf "$clone"
}

case ${1:-} in
  --update) update ;;
  '')
    if reachable; then
      cargo deny --log-level error check advisories
    else
      echo "GitHub cannot be reached: checking the advisories as of $snapshot_date"
      cargo fetch --locked --quiet
      unpack
      cargo deny --log-level error --offline check advisories
    fi
    ;;
  *) die "unknown argument $1" "usage: check.sh [--update]" ;;
esac
