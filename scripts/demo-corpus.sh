#!/usr/bin/env bash
# Builds the demo corpus: eleven pages of several hosts each (news, shop, photos, map, web application, documentation, ...) made from npm
# packages of permissive licences, served by nginx over an emulated network and recorded by Chromium.
#
#   scripts/demo-corpus.sh [FOLDER] [PAGE...]      default: out/corpus, all pages of scripts/corpus/pages.toml
#
# It needs npm, nginx, openssl, Python 3.11, Chromium and emulation (farlink doctor).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
folder=${1:-out/corpus}
[ $# -eq 0 ] || shift
for tool in npm nginx openssl python3; do command -v "$tool" >/dev/null 2>&1 || die "$tool is not installed" "apt-get install npm nginx openssl python3"; done
newest=$(newest_farlink)
exec python3 scripts/corpus/build.py "$newest" "$folder" "$@"
