#!/usr/bin/env bash
# h2spec (a Go module) against our HTTP/2 server: every case passes, but those that expected.txt names with their reasons.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=scripts/interop/h2spec
version=v2.2.1+incompatible
need python3 python3
need go golang-go

h2spec=$tools/h2spec-$version/h2spec
[ -x "$h2spec" ] || GOBIN=${h2spec%/*} go install "github.com/summerwind/h2spec/cmd/h2spec@$version" || missing h2spec

# conforms SECURITY [OPTION...]: runs all cases over it.
conforms() {
  serve_ours h2 "$1"
  "${limit[@]}" "$h2spec" --host 127.0.0.1 --port "$port" --path /small --timeout 1 --junit-report "$work/report.xml" "${@:2}" >"$work/output" || true
  python3 "$here/compare.py" "$work/report.xml" "$1" "$here/expected.txt"
  stop
}
conforms none
conforms tls13 --tls --insecure
