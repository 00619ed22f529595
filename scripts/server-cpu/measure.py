"""CPU time of servers for a handshake, a request and a megabyte: PEER FOLDER ROUNDS (scripts/server-cpu/measure.sh)."""

import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

peer, folder, rounds = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
TICK = 1000 / os.sysconf("SC_CLK_TCK")
KEYS = {"rsa-2048": ["rsa:2048"], "ecdsa-p256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "ed25519": ["ed25519"]}


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def cpu_ms(pids):
    """User and system time of processes."""
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) * TICK
    return total


def children(pid):
    return [int(it) for it in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("a server does not listen")


def serve_nginx(key):
    port = free_port()
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{ worker_connections 4096; }}\n"
        f"http {{ access_log off; keepalive_requests 1000000; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;"
        f" uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5; server {{ listen 127.0.0.1:{port} ssl http2; root {folder}/files;"
        f" ssl_certificate {folder}/{key}.crt; ssl_certificate_key {folder}/{key}.key; ssl_protocols TLSv1.3; ssl_session_cache off; ssl_session_tickets off; }} }}\n"
    )
    server = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder], stderr=subprocess.DEVNULL)
    wait_for(port)
    return server, port, children(server.pid)


def serve_caddy(key):
    port = free_port()
    (folder / "Caddyfile").write_text(
        f"{{\n auto_https off\n admin off\n servers {{\n  protocols h1 h2 h3\n }}\n}}\n"
        f"https://any.farlink.test:{port} {{\n tls {folder}/{key}.crt {folder}/{key}.key\n root * {folder}/files\n file_server\n}}\n"
    )
    environment = os.environ | {"GOMAXPROCS": "1", "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    server = subprocess.Popen(["caddy", "run", "--adapter", "caddyfile", "--config", folder / "Caddyfile"], stderr=subprocess.DEVNULL, env=environment)
    wait_for(port)
    return server, port, [server.pid]


def h2load(port, connections, requests, path, protocol):
    plain = ["--h1"] if protocol == "h1" else []
    command = ["h2load", *plain, "-n", str(requests), "-c", str(connections), "-m", "1", "-t", "1", f"https://127.0.0.1:{port}/{path}"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    done = re.search(r"(\d+) succeeded", output)
    assert done and int(done[1]) == requests, output


def fetch(port, connections, requests, path, _):
    for _ in range(connections):
        command = [peer, "fetch", "h3", "tls13", f"127.0.0.1:{port}", f"/{path}", "--times", str(requests // connections)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert sum(line.startswith("200 ") for line in output.splitlines()) == requests // connections, output


def cost(serve, client, protocol, key, few, many, unit):
    """Milliseconds of the server between two loads of it, for each unit of what they differ by."""
    server, port, pids = serve(key)
    client(port, 1, 20, "small", protocol)
    times = []
    for (connections, requests, path) in (few, many):
        began = cpu_ms(pids)
        client(port, connections, requests, path, protocol)
        times.append(cpu_ms(pids) - began)
    server.send_signal(signal.SIGTERM)
    server.wait(20)
    return (times[1] - times[0]) / unit


(folder / "files").mkdir()
(folder / "files/small").write_bytes(os.urandom(200))
(folder / "files/large").write_bytes(os.urandom(10_000_000))
for key, how in KEYS.items():
    command = ["openssl", "req", "-x509", "-newkey", *how, "-nodes", "-keyout", folder / f"{key}.key", "-out", folder / f"{key}.crt", "-days", "30", "-subj", "/CN=any.farlink.test", "-addext", "subjectAltName=DNS:any.farlink.test,IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)

assets = pathlib.Path(__file__).parent / "../../crates/tls/assets"
(folder / "rsa-2048.crt").write_bytes((assets / "rsa-chain.pem").read_bytes())
(folder / "rsa-2048.key").write_bytes((assets / "rsa-key.pem").read_bytes())

print(f"{'server':8} {'protocol':9} {'cost':22} {'median, us':>10}   all")
for name, serve, client, protocol, connections in (
    ("nginx", serve_nginx, h2load, "h1", 1000),
    ("nginx", serve_nginx, h2load, "h2", 1000),
    # What another key costs Caddy: its handshakes over HTTP/2.
    ("caddy", serve_caddy, h2load, "h2", 1000),
    ("caddy", serve_caddy, fetch, "h3", 200),
):
    # The peer trusts the fixed RSA certificate alone.
    keys = ["rsa-2048"] if client is fetch else KEYS
    wanted = [(f"handshake, {key}", key, (1, connections, "small"), (connections, connections, "small"), connections - 1) for key in keys]
    if (name, protocol) != ("caddy", "h2"):
        # Caddy's requests come from a slower client: fewer of them.
        requests = 20_000 if client is h2load else 5_000
        key = keys[0] if client is fetch else "ecdsa-p256"
        wanted.append(("request", key, (1, 100, "small"), (1, requests, "small"), requests - 100))
        wanted.append(("megabyte", key, (1, 1, "large"), (1, 41, "large"), 400))
    for what, key, few, many, unit in wanted:
        all_costs = [1000 * cost(serve, client, protocol, key, few, many, unit) for _ in range(rounds)]
        print(f"{name:8} {protocol:9} {what:22} {statistics.median(all_costs):10.1f}   {' '.join(f'{it:.1f}' for it in all_costs)}", flush=True)
