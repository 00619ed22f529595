#!/usr/bin/env bash
# Packet captures of page loads, read by somebody else's software (tshark): nothing malformed, every checksum right, as many
# retransmissions as we count, and the same bytes from run to run.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
command -v tshark >/dev/null 2>&1 || { echo "skipped: tshark is not installed"; exit 0; }

farlink=${FARLINK:-target/debug/farlink}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# count FILE FILTER: packets of FILE that match. TLS is put together in the order of its bytes: by default tshark gives up on a
# record of which a part was sent twice.
count() {
  tshark -r "$1" -o tcp.reassemble_out_of_order:TRUE -o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE \
    -Y "$2" -T fields -e frame.number 2>/dev/null | wc -l
}

# Where data leaves nothing is out of order yet: what looks so was sent again, too.
again='(tcp.analysis.retransmission or tcp.analysis.fast_retransmission or tcp.analysis.spurious_retransmission or tcp.analysis.out_of_order)'
# Bodies have the sizes of images, not their contents: that tshark cannot draw them is no fault of a packet.
bad='(_ws.malformed and not http.subdissector_failed) or ip.checksum.status != 1 or (tcp and tcp.checksum.status != 1) or (udp and udp.checksum.status != 1)'

# check NAME OPTIONS...: a page load that retransmits, or does not.
check() {
  local name=$1 file="$work/$1.pcapng" servers="$work/$1.servers.pcapng" ours theirs
  shift
  "$farlink" load "$@" -n 1 --json --pcap "$file" >"$work/$name.json" 2>/dev/null || die "$name: the page did not load"
  cp "$file" "$work/first"
  "$farlink" load "$@" -n 1 --json --pcap "$file" >/dev/null 2>&1
  cmp -s "$file" "$work/first" || die "$name: two runs wrote different captures"
  for side in "$file" "$servers"; do
    [ "$(count "$side" frame)" -gt 20 ] || die "$name: the capture is empty"
    [ "$(count "$side" "$bad")" = 0 ] || die "$name: tshark finds packets malformed or their checksums wrong in $side"
  done
  ours=$(grep -o '"retransmits":[0-9]*' "$work/$name.json" | cut -d: -f2)
  theirs=$(($(count "$servers" "ip.src != 10.0.0.1 and $again") + $(count "$file" "ip.src == 10.0.0.1 and $again")))
  printf '%-16s %5s packets at the client, retransmissions: %s counted by us, %s by tshark\n' \
    "$name" "$(count "$file" frame)" "$ours" "$theirs"
  [ "$ours" = "$theirs" ] || die "$name: tshark counts $theirs retransmissions, we $ours"
  total=$((total + ours))
}

total=0
check clean synthetic:20x20KB --network rtt=80ms,down=8mbit,up=2mbit --protocol h1 --tls none
[ $total = 0 ] || die "nothing is lost, and yet something was sent again"
check lossy-h1 synthetic:20x20KB --network rtt=80ms,down=8mbit,up=2mbit,loss=2% --protocol h1
check lossy-h2 synthetic:20x20KB --network rtt=80ms,down=8mbit,up=2mbit,loss=2% --protocol h2 --tls tls12
check very-lossy synthetic:30x5KB --network rtt=200ms,down=2mbit,up=1mbit,loss=8% --protocol h1 --tls none
check short-queue synthetic:4x500KB --network rtt=60ms,down=10mbit,up=2mbit,queue=20pkt --protocol h2
[ $total -gt 10 ] || die "only $total retransmissions: the networks are not lossy enough to show anything"
