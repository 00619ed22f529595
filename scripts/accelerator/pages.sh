#!/usr/bin/env bash
# Recorded pages in Chromium over an emulated network, without a proxy and through `farlink proxy` at the network's far end: bytes, first
# render and load time, medians; whether the documents are the same when they have loaded; pictures of both.
#
#   scripts/accelerator/pages.sh FOLDER [PICTURES] [LOADS]      default: out/accelerator, 3 loads each way
#
# FOLDER has archives (.wacz), such as scripts/demo-corpus.sh makes. $NETWORK is the network (3g), $PROXY the proxy's configuration
# (scripts/accelerator/proxy.toml), $PROTOCOL that of the servers (h2).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
folder=${1:?"the folder with the archives"}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || die "Chromium is not installed" "apt-get install chromium"
farlink=$(newest_farlink)
python=$(python_environment pages scripts/docs/requirements.txt)
exec "$python" scripts/accelerator/pages.py "$farlink" "$chromium" "$folder" "${2:-out/accelerator}" "${3:-3}"
