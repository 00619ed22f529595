#!/usr/bin/env bash
# `farlink ui` in Chromium, by keyboard, with axe-core: scripts/ui/check.sh [PICTURES]      default: out/ui
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
skip() { [ "${CI:-}" = true ] && die "$1"; echo "skipped: $1"; exit 0; }
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || skip "Chromium is not installed"
command -v npm >/dev/null 2>&1 || skip "npm is not installed"
farlink=$(newest_farlink)
python_modules
python3 -c "import playwright" 2>/dev/null || skip "Playwright is not installed (pip install -r scripts/docs/requirements.txt)"
npm ci --prefix scripts/ui --no-audit --no-fund --silent
python3 scripts/ui/check.py "$farlink" "$chromium" examples/shop.har scripts/ui/node_modules/axe-core/axe.min.js "${1:-out/ui}"
