#!/usr/bin/env bash
# A run of 12,000 visits: how much slower it is for being watched in `farlink ui`, and how fast the page and the report show it. It fails above 5 %,
# 1 s for the list of runs, 2 s for the report.
#
#   scripts/ui/large.sh [PAIRS]      default: 3 pairs of runs, one of each pair watched in headless Chromium
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
farlink=$(newest_farlink)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || die "Chromium is not installed"
python_modules
python3 -c "import playwright" 2>/dev/null || die "Playwright is not installed" "pip install -r scripts/docs/requirements.txt"
python3 scripts/ui/large.py "$farlink" "$chromium" scripts/ui/large.toml "${1:-3}"
