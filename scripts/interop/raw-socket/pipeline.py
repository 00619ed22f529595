"""Pipelined requests, byte by byte as a raw socket sends them: pipeline.py PORT FOLDER

Each case writes its requests without waiting and must get exactly the responses that RFC 9112 section 9.3.2 wants, in their order.
"""

import random
import socket
import sys
import time
from pathlib import Path

port, folder = int(sys.argv[1]), Path(sys.argv[2])
files = {path.name: path.read_bytes() for path in folder.iterdir()}


def connect():
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def get(path, fields=""):
    return f"GET /{path} HTTP/1.1\r\nHost: any.farlink.test\r\n{fields}\r\n".encode()


def post(size, fields=""):
    return f"POST /body HTTP/1.1\r\nHost: any.farlink.test\r\nContent-Length: {size}\r\n{fields}\r\n".encode() + b"y" * size


def chunked(pieces):
    head = b"POST /body HTTP/1.1\r\nHost: any.farlink.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (size, b"y" * size) for size in pieces) + b"0\r\n\r\n"


def responses(reader, count, heads=()):
    """The next responses: status and body; those in `heads` answer a HEAD."""
    seen = []
    for index in range(count):
        status = reader.readline().split()
        assert status, f"the connection closed before response {index}"
        fields = {}
        while (line := reader.readline().strip()) != b"":
            name, value = line.split(b":", 1)
            fields[name.lower()] = value.strip()
        size = 0 if index in heads else int(fields[b"content-length"])
        seen.append((int(status[1]), reader.read(size)))
    return seen


def is_closed(reader):
    return reader.read(1) == b""


def in_one_write():
    names = random.Random(1).choices(["empty", "small", "middle", "later/small", "later/empty"], k=200)
    with connect() as connection:
        connection.sendall(b"".join(get(name) for name in names))
        seen = responses(connection.makefile("rb"), len(names))
    assert seen == [(200, files[name.removeprefix("later/")]) for name in names]


def byte_by_byte():
    with connect() as connection:
        for byte in get("small") + get("later/empty") + post(3) + get("small"):
            connection.sendall(bytes([byte]))
        seen = responses(connection.makefile("rb"), 4)
    assert seen == [(200, files["small"]), (200, b""), (200, b"3"), (200, files["small"])]


def bodies_between():
    with connect() as connection:
        connection.sendall(get("small") + post(70000) + chunked([1, 20000, 3]) + get("later/small") + post(0) + get("small"))
        seen = responses(connection.makefile("rb"), 6)
    sizes = [body for _, body in seen[1:3] + seen[4:5]]
    assert sizes == [b"70000", b"20004", b"0"], sizes
    assert [seen[0], seen[3], seen[5]] == 3 * [(200, files["small"])]


def a_reader_that_is_slow():
    """What is not read holds up the server, which must hold up the requests, not lose them."""
    with connect() as connection:
        connection.sendall(20 * get("large"))
        reader = connection.makefile("rb")
        first = responses(reader, 1)
        time.sleep(0.5)
        seen = first + responses(reader, 19)
    assert seen == 20 * [(200, files["large"])]


def head_and_missing():
    with connect() as connection:
        head = get("middle").replace(b"GET", b"HEAD", 1)
        connection.sendall(head + get("none") + head + get("small"))
        seen = responses(connection.makefile("rb"), 4, heads=(0, 2))
    assert seen == [(200, b""), (404, b""), (200, b""), (200, files["small"])], seen


def behind_close_nothing_is_answered():
    with connect() as connection:
        connection.sendall(get("small") + get("small", "Connection: close\r\n") + get("middle"))
        reader = connection.makefile("rb")
        assert responses(reader, 2) == 2 * [(200, files["small"])]
        assert is_closed(reader)


def behind_what_is_broken_nothing_is_answered():
    with connect() as connection:
        connection.sendall(get("small") + b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n" + get("small"))
        reader = connection.makefile("rb")
        assert [status for status, _ in responses(reader, 2)] == [200, 400]
        assert is_closed(reader)


def a_client_that_only_sends_to_its_end():
    with connect() as connection:
        connection.sendall(get("small") + get("later/middle"))
        connection.shutdown(socket.SHUT_WR)
        reader = connection.makefile("rb")
        assert responses(reader, 2) == [(200, files["small"]), (200, files["middle"])]
        assert is_closed(reader)


cases = [
    in_one_write,
    byte_by_byte,
    bodies_between,
    a_reader_that_is_slow,
    head_and_missing,
    behind_close_nothing_is_answered,
    behind_what_is_broken_nothing_is_answered,
    a_client_that_only_sends_to_its_end,
]
for case in cases:
    case()
    print(f"ok: pipelined: {case.__name__.replace('_', ' ')}")
