#!/usr/bin/env bash
# Our client against nginx: HTTP/1.1, pipelined or not, and HTTP/2, in clear text and TLS.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need nginx nginx-light
need python3 python3

# `http2` of a port is of HTTP/2 alone in nginx's clear text.
ports=()
for _ in 1 2 3; do ports+=("$(free_port)"); done
cat >"$work/nginx.conf" <<END
daemon off;
worker_processes 1;
pid $work/nginx.pid;
error_log $work/error.log;
events {}
http {
  access_log off;
  client_body_temp_path $work/body;
  proxy_temp_path $work/proxy;
  fastcgi_temp_path $work/fastcgi;
  uwsgi_temp_path $work/uwsgi;
  scgi_temp_path $work/scgi;
  ssl_certificate $root/$assets/rsa-chain.pem;
  ssl_certificate_key $root/$assets/rsa-key.pem;
  ssl_protocols TLSv1.2 TLSv1.3;
  keepalive_requests 1000;
  root $files;
  server { listen 127.0.0.1:${ports[0]}; }
  server { listen 127.0.0.1:${ports[1]} http2; }
  server { listen 127.0.0.1:${ports[2]} ssl http2; }
}
END
start nginx -c "$work/nginx.conf" -e "$work/error.log"
for port in "${ports[@]}"; do accepts "$port"; done

port=${ports[0]}
ours_fetches nginx h1 none 25
ours_fetches nginx h1-pipelined none 25
port=${ports[1]}
ours_fetches nginx h2 none 25
ours_fetches "nginx, windows of 65,535" h2 none 5 --window 65535
port=${ports[2]}
for security in tls12 tls13; do
  ours_fetches nginx h1 $security 25
  ours_fetches nginx h1-pipelined $security 25
  ours_fetches nginx h2 $security 25
done
