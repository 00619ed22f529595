#!/usr/bin/env bash
# The proxy's cache against the tests for HTTP caches of cache-tests.fyi: every test that counts passes, but those that expected.txt names with
# their reasons.
#
#   scripts/cache-tests/run.sh [CHECKOUT]     of https://github.com/http-tests/cache-tests; default: a clone of its own
set -euo pipefail
. "$(dirname "$0")/../interop/lib.sh"
here=scripts/cache-tests
need node nodejs
need npm npm

tests=${1:-$tools/cache-tests}
[ -d "$tests" ] || git clone --quiet --depth 1 https://github.com/http-tests/cache-tests "$tests" || missing cache-tests
tests=$(realpath "$tests")
[ -d "$tests/node_modules" ] || npm install --prefix "$tests" --omit=dev --no-audit --no-fund --silent || missing "what cache-tests needs"

origin_port=$(free_port)
start npm run --prefix "$tests" --silent server --port="$origin_port" --pidfile="$work/pid"
accepts "$origin_port"
port=$(free_port)
cat >"$work/proxy.toml" <<TOML
[[listen]]
address = "127.0.0.1:$port"
[[reverse]]
origins = ["http://127.0.0.1:$origin_port"]
[cache]
memory = "64MiB"
TOML
start "${FARLINK_PROGRAM:-target/debug/farlink}" proxy --config "$work/proxy.toml"
accepts "$port"
npm run --prefix "$tests" --silent cli --base="http://127.0.0.1:$port" >"$work/results.json" 2>"$work/errors" || {
  tail -5 "$work/errors" >&2
  die "the tests broke off"
}
node "$here/score.mjs" "$tests" "$work/results.json" "$here/expected.txt"
