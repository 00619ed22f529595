#!/usr/bin/env bash
# A live site against its replay: a shop of four hosts on nginx (HTTP/1.1, HTTP/2) and Caddy (HTTP/3), loaded by Chromium over an emulated
# network, recorded, and replayed over the same network. Loads alternate between the two. It prints load times, requests, connections and
# bodies, and fails if a request is missing, requests or bodies differ, the usual connections of one side do not occur on the other, or the
# median load times differ by more than 3 %. A site at the edge of a full queue (queue=100pkt) scatters by 10 % and more: medians of ten
# loads differ by chance there, those of live loads among themselves, too.
#
#   scripts/replay/check.sh [LOADS] [NETWORK] [PROTOCOL...]      default: 10 loads each over rtt=80ms,down=4mbit,up=1mbit,queue=400pkt, h1 h2 h3
#
# It needs nginx, caddy, openssl, python3, Chromium and emulation; a missing server's protocols are left out, and said so.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
loads=${1:-10}
network=${2:-rtt=80ms,down=4mbit,up=1mbit,queue=400pkt}
asked=("${@:3}")
[ ${#asked[@]} -gt 0 ] || asked=(h1 h2 h3)
farlink=$(newest_farlink)
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
python3 scripts/replay/site.py "$site"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$site/key.pem" -out "$site/cert.pem" -days 30 -subj /CN=shop.test \
  -addext "subjectAltName=DNS:www.shop.test,DNS:cdn.shop.test,DNS:img.shop.test,DNS:api.other.test" 2>/dev/null
key=$(openssl x509 -in "$site/cert.pem" -pubkey -noout | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64)
chmod -R a+rwX "$site"

# nginx_config PARAMETERS-OF-LISTEN
nginx_config() {
  cat <<END
daemon off; master_process off; pid $site/nginx.pid; error_log $site/error.log;
events { worker_connections 512; }
http {
  access_log off; gzip on; gzip_types text/css application/javascript;
  types { text/html html; text/css css; application/javascript js; image/png png; image/gif gif; font/woff2 woff2; }
  client_body_temp_path $site/1; proxy_temp_path $site/2; fastcgi_temp_path $site/3; uwsgi_temp_path $site/4; scgi_temp_path $site/5;
  ssl_certificate $site/cert.pem; ssl_certificate_key $site/key.pem;
  server { listen 10.1.0.1:443 $1; server_name www.shop.test; root $site/www; }
  server { listen 10.1.0.2:443 $1; server_name cdn.shop.test img.shop.test; root $site/cdn; add_header Access-Control-Allow-Origin *; }
  server { listen 10.1.0.3:443 $1; server_name api.other.test; root $site/api; error_page 405 =200 \$uri; add_header Access-Control-Allow-Origin * always; }
}
END
}

caddy_config() {
  cat <<END
{
  admin off
  auto_https off
  servers {
    protocols h1 h2 h3
  }
}
(common) {
  tls $site/cert.pem $site/key.pem
  encode gzip
  header Access-Control-Allow-Origin *
}
https://www.shop.test {
  bind 10.1.0.1
  import common
  root * $site/www
  file_server
}
https://cdn.shop.test, https://img.shop.test {
  bind 10.1.0.2
  import common
  root * $site/cdn
  file_server
}
https://api.other.test {
  bind 10.1.0.3
  import common
  root * $site/api
  @order method POST
  respond @order "{\"ok\":true}"
  file_server
}
END
}

nginx_config "ssl" >"$site/h1.conf"
nginx_config "ssl http2" >"$site/h2.conf"
caddy_config >"$site/Caddyfile"
names=(www.shop.test cdn.shop.test img.shop.test api.other.test)
addresses=(10.1.0.1 10.1.0.2 10.1.0.2 10.1.0.3)
record=("$farlink" record https://www.shop.test/ --accept-key "$key")
for at in 0 1 2 3; do record+=(--connect-to "${names[at]}=${addresses[at]}:443"); done

# live PROTOCOL SEED FILE: a load of the live site. Servers listen before they are ready.
live() {
  local server h3=()
  case $1 in
    h3) server="HOME=$site caddy run --config $site/Caddyfile --adapter caddyfile 2>$site/caddy.log"
      for name in "${names[@]}"; do h3+=(--h3 "$name"); done ;;
    *) server="nginx -c $site/$1.conf" ;;
  esac
  "$farlink" shell --network "$network" --seed "$2" --server "$server" -- \
    sh -c 'sleep 1; exec "$@"' sh "${record[@]}" "${h3[@]}" -o "$3" >"$site/said" 2>&1 || { cat "$site/said" >&2; die "the live load over $1 failed"; }
}

# replayed PROTOCOL SEED FILE RECORDING: a load of its replay.
replayed() {
  # Caddy's QUIC begins with 32 packets and leaves slow start by HyStart (initialCongestionWindow, hybrid_slow_start.go in quic-go).
  "$farlink" shell --network "$network" --seed "$2" --quic cc=cubic-hystart,iw=32 --replay "$4" --replay-protocol "$1" --think none --origins equal --names hosts --log "$3.json" -- \
    "$farlink" record https://www.shop.test/ -o "$3" >"$site/said" 2>&1 || { cat "$site/said" >&2; die "the replay over $1 failed"; }
}

protocols=()
for protocol in "${asked[@]}"; do
  case $protocol in
    h1 | h2) server=nginx ;;
    h3) server=caddy ;;
    *) die "unknown protocol $protocol" "h1, h2 or h3" ;;
  esac
  if command -v "$server" >/dev/null 2>&1; then protocols+=("$protocol"); else echo "skipped: $protocol ($server is not installed)"; fi
done
[ ${#protocols[@]} -gt 0 ] || die "no server is installed" "apt-get install nginx caddy"
for protocol in "${protocols[@]}"; do
  live "$protocol" 1 "$site/$protocol.wacz"
  for load in $(seq "$loads"); do
    live "$protocol" "$load" "$site/$protocol-live-$load.wacz"
    replayed "$protocol" "$load" "$site/$protocol-replay-$load.wacz" "$site/$protocol.wacz"
  done
done
python3 scripts/replay/compare.py "$site" "$loads" "${protocols[@]}"
