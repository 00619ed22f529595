#!/usr/bin/env bash
# The main job, small: an experiment, its report in a real browser, in light and dark, without the network.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: Chromium is not installed"; exit 0; }
farlink=${FARLINK:-target/debug/farlink}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p out

"$farlink" run examples/first.toml --set repetitions=3 --store "$work/store.sqlite" >/dev/null
"$farlink" report --store "$work/store.sqlite" -o out/smoke.html
flags="--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
  --disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=8000 --window-size=1280,3600"

# shellcheck disable=SC2086
"$chromium" $flags --user-data-dir="$work/dom" --enable-logging=stderr --dump-dom "file://$root/out/smoke.html" \
  >"$work/dom.html" 2>"$work/log"
charts=$(grep -oE '<svg' "$work/dom.html" | wc -l)
[ "$charts" -ge 5 ] || die "the report drew $charts charts; at least 5 were expected"
# Below each waterfall, lanes with its time axis: as wide, with the same margins.
"$farlink" run examples/pause-on-3g.toml --set repetitions=1 --store "$work/pause.sqlite" >/dev/null
"$farlink" report --store "$work/pause.sqlite" -o out/smoke-pause.html
# shellcheck disable=SC2086
"$chromium" $flags --user-data-dir="$work/pause" --enable-logging=stderr --dump-dom "file://$root/out/smoke-pause.html" \
  >"$work/pause.html" 2>>"$work/log"
lanes=$(grep -oE '<svg [^>]*data-lane="[^"]*"' "$work/pause.html")
[ "$(wc -l <<<"$lanes")" -ge 11 ] || die "lanes are missing below the waterfalls" "$lanes"
if grep -v 'width="1132"' <<<"$lanes"; then die "a lane is not as wide as its waterfall"; fi
# A study's figures, each with its data.
"$farlink" study run petuchowski2015 --quick --store "$work/study.sqlite" >/dev/null
"$farlink" study report petuchowski2015 --quick --store "$work/study.sqlite" --html out/smoke-study.html >/dev/null
# shellcheck disable=SC2086
"$chromium" $flags --user-data-dir="$work/study" --enable-logging=stderr --dump-dom "file://$root/out/smoke-study.html" \
  >"$work/study.html" 2>>"$work/log"
figures=$(grep -oE '<svg[^>]*class="plot-' "$work/study.html" | wc -l)
[ "$figures" -ge 9 ] || die "the study's page drew $figures plots; at least 9 were expected"
# A grid of 12 arms: told apart by colour and dash, nothing clipped or wider than a phone, full URLs on hover.
"$farlink" run scripts/report-smoke-grid.toml --store "$work/grid.sqlite" >/dev/null
"$farlink" report --store "$work/grid.sqlite" -o out/smoke-grid.html
for report in smoke smoke-pause smoke-grid; do
  # A script at its end measures the report once it is drawn.
  cat "out/$report.html" scripts/report-measure.html >"$work/$report-measured.html"
  for width in 400 1280; do
    # Chromium's windows are never as narrow as a phone, a frame is.
    printf '<iframe src="%s-measured.html" width="%s" height="3600" style="border: 0"></iframe>' "$report" "$width" >"$work/frame.html"
    # shellcheck disable=SC2086
    "$chromium" $flags --user-data-dir="$work/measure" --enable-logging=stderr --dump-dom "file://$work/frame.html" \
      >/dev/null 2>"$work/measured"
    measured=$(grep -o 'measured: [^"]*' "$work/measured" | head -1 || true)
    [ "$measured" = "measured: fits at $width" ] || die "$report at $width px: ${measured:-it was not measured}"
    cat "$work/measured" >>"$work/log"
  done
done
if grep -E 'CONSOLE.*(Uncaught|Error|Refused)' "$work/log"; then die "the report's scripts failed"; fi
for theme in light dark; do
  [ $theme = dark ] && scheme=--blink-settings=preferredColorScheme=0 || scheme=--blink-settings=preferredColorScheme=1
  # shellcheck disable=SC2086
  "$chromium" $flags $scheme --user-data-dir="$work/$theme" --screenshot="out/smoke-$theme.png" \
    "file://$root/out/smoke.html" >/dev/null 2>&1
  [ -s "out/smoke-$theme.png" ] || die "no screenshot was taken ($theme)"
done
cmp -s out/smoke-light.png out/smoke-dark.png && die "light and dark look the same"
printf '%s charts; screenshots in out/smoke-light.png and out/smoke-dark.png\n' "$charts"
