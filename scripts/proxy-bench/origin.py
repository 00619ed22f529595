"""The origin that the caches are filled from. It counts, to prove that the caches answered."""

import http.server
import pathlib
import threading

KIB = (1, 10, 20)
OBJECTS = {f"/{kib}": b"x" * (kib * 1024) for kib in KIB}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = 0

    def do_GET(self):
        Handler.requests += 1
        body = OBJECTS.get(self.path, b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Cache-Control", "public, max-age=3600")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A proxy that is stopped resets its connection: no error of the origin's."""


def start(port):
    server = Server(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def requests():
    return Handler.requests


def write_files(folder):
    """The same objects for a server that has files and no cache."""
    folder.mkdir()
    for path, body in OBJECTS.items():
        pathlib.Path(folder, path[1:]).write_bytes(body)
