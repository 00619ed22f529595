"""A proxy under test, and an origin for it."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

CONFIG = """
workers = {workers}
[[listen]]
address = "127.0.0.1:0"
[forward]
networks = ["127.0.0.0/8"]
ports = ["1024-65535"]
[admin]
address = "127.0.0.1:0"
[upstream]
first_byte_timeout = "5s"
idle_timeout = "5s"
[cache]
memory = "64MiB"
object = "256KiB"
disk = {{ path = "store", size = "256MiB" }}
"""


class Origin(threading.Thread):
    """Answers `/N` with N KiB that may be stored, `/stream/N` with N KiB that may not, `/stall` and `/garbage` as they say."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.start()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with connection, connection.makefile("rb") as reader:
                while self.answer(connection, reader):
                    pass
        except OSError:
            pass

    def answer(self, connection, reader):
        line = reader.readline()
        while reader.readline() not in (b"\r\n", b""):
            pass
        # The end, or what is left of a body that broke off.
        if line.count(b" ") != 2:
            return False
        path = line.split(b" ")[1].split(b"?")[0]
        if path == b"/garbage":
            connection.sendall(b"\x00\x01\x02\r\n\r\n")
            return False
        if path == b"/stall":
            time.sleep(30)
            return False
        if path == b"/dies":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc")
            return False
        size = int(path.rsplit(b"/", 1)[1] or b"1") * 1024
        terms = b"no-store" if path.startswith(b"/stream/") else b"max-age=3600"
        head = b"HTTP/1.1 200 OK\r\nCache-Control: %s\r\nContent-Length: %d\r\n\r\n" % (terms, size)
        connection.sendall(head + b"x" * size)
        return True


class Proxy:
    """`farlink proxy`; ended with its directory when it is closed."""

    def __init__(self, program, workers=2, wrapper=()):
        self.folder = tempfile.TemporaryDirectory(prefix="farlink-soak-")
        with open(os.path.join(self.folder.name, "proxy.toml"), "w") as file:
            file.write(CONFIG.format(workers=workers))
        command = [*wrapper, os.path.abspath(program), "proxy", "--config", "proxy.toml"]
        self.process = subprocess.Popen(command, cwd=self.folder.name, stderr=subprocess.PIPE, text=True)
        self.said, self.port, self.admin = [], None, None
        while self.port is None or self.admin is None:
            line = self.process.stderr.readline()
            if not line:
                raise SystemExit("error: the proxy did not start: " + "".join(self.said))
            self.said.append(line)
            if found := re.search(r"listening on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
            if found := re.search(r"health on http://127\.0\.0\.1:(\d+)", line):
                self.admin = int(found[1])
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()

    def connect(self, timeout=20):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def get(self, url, fields=""):
        """The whole answer to a GET on a connection of its own."""
        with self.connect() as connection:
            connection.sendall(f"GET {url} HTTP/1.1\r\nHost: x\r\n{fields}Connection: close\r\n\r\n".encode())
            answer = b""
            while more := connection.recv(1 << 16):
                answer += more
            return answer

    def metric(self, name):
        with socket.create_connection(("127.0.0.1", self.admin), timeout=20) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            text = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])

    def memory(self):
        """Resident now, and at the most since the last time: MiB (proc_pid_status(5))."""
        with open(f"/proc/{self.process.pid}/status") as file:
            status = file.read()
        found = [int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for name in ("VmRSS", "VmHWM")]
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")
        return found

    def close(self):
        """Ends it in order; gives its exit code and how long it took."""
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.folder.cleanup()
        return code, time.monotonic() - began
