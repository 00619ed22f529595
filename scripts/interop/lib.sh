# What the checks against software of others share: both our ends (crates/http/examples/peer), files to carry, programs to start.
#
# Every client, ours or another's, prints a line for each response: status, size and SHA-256 of the body, path. So one comparison serves all.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
need_rust

PATH=$PATH:/usr/sbin
# PROFILE=release for those who have built that one.
profile=${PROFILE:-dev}
peer=target/${profile/dev/debug}/examples/peer
# A client that waits for ever fails the check.
limit=(timeout 60)
assets=crates/tls/assets
host=any.farlink.test
# Programs of others that were built or fetched stay here.
tools=$root/target/interop
work=$(mktemp -d)
chmod 755 "$work"
started=()

finish() {
  local process
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT

# For the whole workspace, as the tests are built: a crate alone has other features, and everything below it would be built again.
cargo build --workspace --locked --quiet --profile "$profile" --example peer --bin farlink

# Files of every size: empty, within a packet, beyond HTTP's windows of 64 KB, beyond what any buffer holds.
files=$work/files
mkdir -p "$files" "$tools"
: >"$files/empty"
head -c 500 < <(seq 1000) >"$files/small"
head -c 100000 < <(seq 100000) >"$files/middle"
head -c 1000000 < <(seq 1000000) >"$files/large"
all=(empty small middle large)

# missing WHAT: without it CI fails, and anybody else goes without the check.
missing() {
  [ "${CI:-}" = true ] && die "$1 is missing and could not be installed"
  echo "skipped: $1 is not installed"
  exit 0
}

# need COMMAND PACKAGE...: a program, from Debian's packages if it is not there.
need() {
  command -v "$1" >/dev/null 2>&1 || apt_get "${@:2}" || true
  command -v "$1" >/dev/null 2>&1 || missing "$1"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# start COMMAND...: runs it beside us; what it says goes to $log.
start() {
  log=$work/log-${#started[@]}
  : >"$log"
  "$@" >"$log" 2>&1 &
  started+=($!)
}

# stop: ends what was started last.
stop() {
  kill "${started[-1]}" 2>/dev/null || true
  wait "${started[-1]}" 2>/dev/null || true
}

# heard PATTERN: waits until what was started last has said it; prints the line.
heard() {
  for _ in {1..200}; do
    grep -m1 -e "$1" "$log" && return
    sleep 0.05
  done
  cat "$log" >&2
  die "what was started did not say \`$1\` within 10 s"
}

# accepts PORT: waits until somebody listens there.
accepts() {
  for _ in {1..200}; do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    sleep 0.05
  done
  cat "$log" >&2
  die "nobody listens at port $1 after 10 s"
}

# serve_ours PROTOCOL SECURITY [OPTION...]: starts our server at $port.
serve_ours() {
  local line
  start "$peer" serve "$1" "$2" 127.0.0.1:0 "$files" "${@:3}"
  line=$(heard '^listening on')
  port=${line##*:}
}

# responses TIMES NAME...: the lines that a client has to print.
responses() {
  local name line times=$1
  for name in "${@:2}"; do
    line="200 $(stat -c %s "$files/${name##*/}") $(sha256sum <"$files/${name##*/}" | cut -d' ' -f1) /$name"
    for ((i = 0; i < times; i++)); do echo "$line"; done
  done
}

# same WHAT EXPECTED SEEN: compares two files and says what was checked.
same() {
  diff "$2" "$3" >"$work/difference" || {
    head -20 "$work/difference" >&2
    die "$1: $(wc -l <"$2") lines were expected, these differ"
  }
  echo "ok: $1: $(wc -l <"$2") responses"
}

# ours_fetches WHAT PROTOCOL SECURITY TIMES [OPTION...]: our client asks the server at $port for every file.
ours_fetches() {
  responses "$4" "${all[@]}" >"$work/expected"
  "${limit[@]}" "$peer" fetch "$2" "$3" "127.0.0.1:$port" "${all[@]/#//}" --times "$4" "${@:5}" >"$work/seen" || die "$1: our client failed"
  same "$1: $2 over $3, our client" "$work/expected" "$work/seen"
}

# ours_posts WHAT PROTOCOL SECURITY BYTES TIMES: our client sends bodies to the server at $port, which says how large they were.
ours_posts() {
  local size
  size="200 ${#4} $(printf %s "$4" | sha256sum | cut -d' ' -f1) /body"
  for ((i = 0; i < $5; i++)); do echo "$size"; done >"$work/expected"
  "${limit[@]}" "$peer" fetch "$2" "$3" "127.0.0.1:$port" /body --post "$4" --times "$5" >"$work/seen" || die "$1: our client failed"
  same "$1: $2 over $3, our client's bodies of $4" "$work/expected" "$work/seen"
}

# theirs_posts WHAT BYTES COMMAND...: somebody else's client was told to send a body of that size.
theirs_posts() {
  "${limit[@]}" "${@:3}" >"$work/seen" || die "$1 failed"
  printf '200 %s %s /body\n' "${#2}" "$(printf %s "$2" | sha256sum | cut -d' ' -f1)" >"$work/expected"
  same "$1, our server, a body of $2" "$work/expected" "$work/seen"
}

# theirs_fetches WHAT COMMAND...: somebody else's client was told to fetch every file once.
theirs_fetches() {
  responses 1 "${all[@]}" | sort >"$work/expected"
  "${limit[@]}" "${@:2}" >"$work/seen" || die "$1 failed"
  sort -o "$work/seen" "$work/seen"
  same "$1, our server" "$work/expected" "$work/seen"
}
