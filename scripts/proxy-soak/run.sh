#!/usr/bin/env bash
# The proxy among many clients and bad ones: what memory it takes, and whether it goes on serving. See docs/proxy.md.
#
# Usage: scripts/proxy-soak/run.sh [--program FARLINK] [--connections N] [--minutes M] [--only PHASE]...
#
# Everything runs on loopback, as an ordinary user. The program is the release build unless another is named.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null 2>&1 || die "python3 is missing" "install your system's package python3"
case " $* " in
  *" --program "*) ;;
  *)
    need_rust
    cargo build --locked --profile dist --quiet -p farlink
    set -- --program target/dist/farlink "$@"
    ;;
esac
# A descriptor a connection, on each side.
ulimit -n "$(ulimit -Hn)"
exec python3 scripts/proxy-soak/soak.py "$@"
