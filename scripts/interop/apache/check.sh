#!/usr/bin/env bash
# Our client against Apache httpd: HTTP/1.1, pipelined or not, and a server that closes in the middle of a pipeline.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need apache2 apache2-bin
need python3 python3

modules=/usr/lib/apache2/modules
plain=$(free_port)
brief=$(free_port)
tls=$(free_port)
cat >"$work/apache.conf" <<END
ServerRoot $work
ServerName localhost
PidFile $work/apache.pid
ErrorLog $work/error.log
DefaultRuntimeDir $work
Mutex file:$work
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule ssl_module $modules/mod_ssl.so
LoadModule http2_module $modules/mod_http2.so
DocumentRoot $files
MaxKeepAliveRequests 0
Listen 127.0.0.1:$plain
Listen 127.0.0.1:$brief
Listen 127.0.0.1:$tls
Protocols h2 h2c http/1.1
<VirtualHost 127.0.0.1:$brief>
  MaxKeepAliveRequests 30
</VirtualHost>
<VirtualHost 127.0.0.1:$tls>
  SSLEngine on
  SSLCertificateFile $root/$assets/rsa-chain.pem
  SSLCertificateKeyFile $root/$assets/rsa-key.pem
</VirtualHost>
END
# root may not serve as itself.
[ "$(id -u)" = 0 ] && printf 'User www-data\nGroup www-data\n' >>"$work/apache.conf"
start apache2 -X -f "$work/apache.conf"
for port in $plain $brief $tls; do accepts "$port"; done

port=$plain
ours_fetches Apache h1 none 25
ours_fetches Apache h1-pipelined none 25
ours_fetches Apache h2 none 25
port=$tls
for security in tls12 tls13; do
  ours_fetches Apache h1-pipelined $security 25
  ours_fetches Apache h2 $security 25
done

# It closes after 30 responses: what was pipelined behind them is unanswered, and said to be so.
port=$brief
ours_fetches "Apache, up to its limit" h1-pipelined none 7
if "${limit[@]}" "$peer" fetch h1-pipelined none "127.0.0.1:$port" /small --times 40 >"$work/seen" 2>"$work/told"; then
  die "40 requests were answered on a connection that Apache closes after 30"
fi
grep -q Unanswered "$work/told" || die "$(cat "$work/told")"
echo "ok: Apache closes a pipeline: the rest is told to be unanswered"
