"""Connections at rest: each has had one response and waits."""

import socket
import ssl

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
ACK = END_STREAM = 1


def _context():
    # The machine's authorities, which take long to load, are not wanted.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


# One for all: the first connections must not be given up for resting while the last are opened.
CONTEXT = _context()


def open_all(server, protocol, count):
    """Opens so many connections; they stay open until they are closed by the caller."""
    one = _h1 if protocol == "h1" else _h2
    return [one(server.port(protocol)) for _ in range(count)]


def _connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _h1(port):
    connection = _connect(port)
    connection.sendall(b"GET /1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    received = b""
    while b"\r\n\r\n" not in received or len(received.split(b"\r\n\r\n", 1)[1]) < 1024:
        received += _some(connection)
    return connection


def _h2(port):
    connection = CONTEXT.wrap_socket(_connect(port))
    # RFC 7541: GET, https and /1 of the static table or literal, the authority literal.
    head = b"\x82\x87\x04\x02/1\x01\x09127.0.0.1"
    request = _frame(HEADERS, END_STREAM | 4, 1, head)
    connection.sendall(PREFACE + _frame(SETTINGS, 0, 0, b"") + request)
    received = b""
    while True:
        while len(received) < 9 or len(received) < 9 + _length(received):
            received += _some(connection)
        length, kind, flags, stream = _length(received), received[3], received[4], received[8]
        received = received[9 + length :]
        if kind == SETTINGS and not flags & ACK:
            connection.sendall(_frame(SETTINGS, ACK, 0, b""))
        if kind == DATA and stream == 1 and flags & END_STREAM:
            return connection


def _frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _length(received):
    return int.from_bytes(received[:3], "big")


def _some(connection):
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the server closed a connection that should rest")
    return data
