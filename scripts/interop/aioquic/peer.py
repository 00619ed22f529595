"""Both ends of HTTP/3 on aioquic.

    peer.py serve CHAIN KEY FOLDER             says `listening on PORT`; `early data` for a connection that used it
    peer.py fetch PORT PATH...            two connections: the second resumes the first and sends early data
    peer.py post PORT BYTES
    peer.py late-fetch PORT PATH...       the same with a server that resumes sessions and takes no early data
    peer.py late-post PORT BYTES
    peer.py tunnel PORT ORIGIN PATH...    a proxy's client: a tunnel (CONNECT) for each path, HTTP/1.1 inside; ORIGIN is ADDRESS:PORT

A client prints for each response: status, size and SHA-256 of the body, path.
"""

import asyncio
import hashlib
import ssl
import sys
from pathlib import Path

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated

HOST = "any.farlink.test"


class Server(QuicConnectionProtocol):
    """Answers a GET with a file of `folder`, a POST with the size of its body."""

    folder: Path

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None
        self.requests = {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if isinstance(event, HandshakeCompleted) and event.early_data_accepted:
            print("early data", flush=True)
        if self.http is None:
            return
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                self.requests[http_event.stream_id] = [dict(http_event.headers), 0]
            elif isinstance(http_event, DataReceived):
                self.requests[http_event.stream_id][1] += len(http_event.data)
            if http_event.stream_ended:
                self.answer(http_event.stream_id, *self.requests.pop(http_event.stream_id))

    def answer(self, stream, fields, size):
        if fields[b":method"] == b"POST":
            body = str(size).encode()
        else:
            body = (self.folder / fields[b":path"].decode().lstrip("/")).read_bytes()
        self.http.send_headers(stream, [(b":status", b"200"), (b"content-length", str(len(body)).encode())])
        self.http.send_data(stream, body, end_stream=True)
        self.transmit()


class Client(QuicConnectionProtocol):
    """Sends requests, gathers responses."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.statuses, self.bodies, self.whole = {}, {}, {}
        self.early = None

    def ask(self, method, path, body=b""):
        stream = self._quic.get_next_available_stream_id()
        self.bodies[stream] = b""
        self.whole[stream] = asyncio.get_running_loop().create_future()
        fields = [(b":method", method), (b":scheme", b"https"), (b":authority", HOST.encode()), (b":path", path.encode())]
        self.http.send_headers(stream, fields, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.transmit()
        return stream

    def tunnel(self, origin, inside):
        """Opens a tunnel to `origin` and sends `inside` into it, without waiting for the proxy's answer."""
        stream = self._quic.get_next_available_stream_id()
        self.bodies[stream] = b""
        self.whole[stream] = asyncio.get_running_loop().create_future()
        self.http.send_headers(stream, [(b":method", b"CONNECT"), (b":authority", origin.encode())])
        self.http.send_data(stream, inside, end_stream=False)
        self.transmit()
        return stream

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.early = event.early_data_accepted
        if isinstance(event, ConnectionTerminated):
            for future in self.whole.values():
                if not future.done():
                    future.set_exception(ConnectionError(event.reason_phrase))
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                self.statuses[http_event.stream_id] = dict(http_event.headers)[b":status"].decode()
            elif isinstance(http_event, DataReceived):
                self.bodies[http_event.stream_id] += http_event.data
            if http_event.stream_ended:
                self.whole[http_event.stream_id].set_result(None)

    async def line(self, stream, path):
        await asyncio.wait_for(self.whole[stream], 20)
        body = self.bodies[stream]
        return f"{self.statuses[stream]} {len(body)} {hashlib.sha256(body).hexdigest()} {path}"


async def run_server(chain, key, folder):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(chain, key)
    Server.folder = Path(folder)
    tickets = {}
    server = await serve(
        "127.0.0.1",
        0,
        configuration=configuration,
        create_protocol=Server,
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.__setitem__(ticket.ticket, ticket),
    )
    print(f"listening on {server._transport.get_extra_info('sockname')[1]}", flush=True)
    await asyncio.Event().wait()


def client_configuration():
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=HOST)
    # The library refuses our certificate for one of its names, `*.localhost`. The handshake's signature is verified all the same.
    configuration.verify_mode = ssl.CERT_NONE
    return configuration


async def run_tunnels(port, origin, paths):
    """Gives a line for each path, whose response came through a tunnel of its own; all are open at once."""
    async with connect("127.0.0.1", port, configuration=client_configuration(), create_protocol=Client) as client:
        ask = "GET {} HTTP/1.1\r\nHost: " + origin + "\r\nConnection: close\r\n\r\n"
        streams = [(client.tunnel(origin, ask.format(path).encode()), path) for path in paths]
        lines = []
        for stream, path in streams:
            await asyncio.wait_for(client.whole[stream], 20)
            assert client.statuses[stream] == "200", f"the tunnel: {client.statuses[stream]}"
            head, _, body = client.bodies[stream].partition(b"\r\n\r\n")
            status = head.split(b" ")[1].decode()
            lines.append(f"{status} {len(body)} {hashlib.sha256(body).hexdigest()} {path}")
        return lines


async def run_client(port, asks):
    """Gives for each of two connections its lines and whether early data was accepted."""
    tickets, seen = [], []
    for _ in range(2):
        configuration = client_configuration()
        configuration.session_ticket = tickets[-1] if tickets else None
        async with connect(
            "127.0.0.1",
            port,
            configuration=configuration,
            create_protocol=Client,
            session_ticket_handler=tickets.append,
            # With a ticket the requests go with the first flight.
            wait_connected=not tickets,
        ) as client:
            streams = [(client.ask(method, path, body), path) for method, path, body in asks]
            lines = [await client.line(*stream) for stream in streams]
            for _ in range(100):
                if tickets:
                    break
                await asyncio.sleep(0.05)
            seen.append((lines, client.early))
    return seen


def main():
    end, *words = sys.argv[1:]
    if end == "serve":
        asyncio.run(run_server(*words))
        return
    port, *words = words
    if end == "tunnel":
        origin, *paths = words
        print(*asyncio.run(run_tunnels(int(port), origin, paths)), sep="\n")
        return
    is_early = not end.startswith("late-")
    asks = [("GET", path, b"") for path in words] if end.endswith("fetch") else [("POST", "/body", bytes(int(words[0])))]
    asks = [(method.encode(), path, body) for method, path, body in asks]
    (first, early_first), (second, early_second) = asyncio.run(run_client(int(port), asks))
    assert first == second, f"{first}\n{second}"
    assert (early_first, early_second) == (False, is_early), f"early data: {early_first}, then {early_second}"
    print(*second, sep="\n")


main()
