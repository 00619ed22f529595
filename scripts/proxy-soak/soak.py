"""Phases, each with what memory the proxy took: resident at its end, and at the most meanwhile."""

import argparse
import concurrent.futures
import threading
import time

import attacks
from stage import Origin, Proxy

KEPT = "GET {url} HTTP/1.1\r\nHost: x\r\n\r\n"


class Soak:
    def __init__(self, program, connections, minutes):
        self.program, self.count, self.minutes = program, connections, minutes
        self.origin, self.proxy = Origin(), Proxy(program)
        # Who keeps one origin's connections busy keeps nobody from another.
        self.other = Origin()

    def check(self):
        """Others are served."""
        for path in ("/1", "/stream/1"):
            answer = self.proxy.get(self.other.url(path))
            assert answer.startswith(b"HTTP/1.1 200"), answer[:200]

    def at_rest(self):
        """a start, and one request"""

    def idle(self):
        """{count} connections at rest, each has had an answer"""
        url = self.origin.url("/1")
        return self.many(self.count, KEPT.format(url=url), read=True)

    def slow_heads(self):
        """{count} clients in the middle of a head (slowloris)"""
        return self.many(self.count, "GET http://a.test/ HTTP/1.1\r\nX: ", read=False)

    def slow_readers(self):
        """500 clients that take nothing of bodies of 10 MiB"""
        return self.many(500, KEPT.format(url=self.origin.url("/stream/10240")), read=False)

    def slow_bodies(self):
        """500 uploads that stand still after a byte"""
        url = self.origin.url("/1")
        return self.many(500, f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx", read=False)

    def bad_origins(self):
        """600 requests to origins that stall, die, or send garbage"""
        paths = ["/stall", "/dies", "/garbage"]
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            urls = [self.origin.url(f"{paths[n % 3]}?{n}") for n in range(600)]
            answers = list(pool.map(self.proxy.get, urls))
        assert all(answer[9:12] in (b"200", b"502", b"503", b"504") for answer in answers)

    def full_cache(self):
        """20,000 objects of 32 KiB: ten times what memory holds, twice what the disk does"""
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: self.proxy.get(self.origin.url(f"/32?{n}")), range(20_000)))
        for name, bound in (("farlink_cache_bytes", 64 << 20), ("farlink_cache_disk_bytes", 256 << 20)):
            assert self.proxy.metric(name) <= bound, name

    def bad_clients(self):
        """rapid resets, CONTINUATION floods, HPACK and zlib bombs, 50 each"""

        def attack(index):
            try:
                with self.proxy.connect() as connection:
                    list(attacks.ALL.values())[index % len(attacks.ALL)](connection)
                    while connection.recv(1 << 16):
                        pass
            except OSError:
                pass

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(attack, range(50 * len(attacks.ALL))))

    def load(self):
        """{minutes} min of requests: hits, misses, what is not stored"""
        end, failed = time.monotonic() + 60 * self.minutes, []

        def ask(client):
            number = client
            while time.monotonic() < end:
                number += 7
                path = [f"/8?{number % 500}", f"/8?{number}", "/stream/64"][number % 3]
                answer = self.proxy.get(self.origin.url(path))
                if not answer.startswith(b"HTTP/1.1 200"):
                    failed.append(answer[:80])

        clients = [threading.Thread(target=ask, args=(client,)) for client in range(16)]
        [client.start() for client in clients]
        [client.join() for client in clients]
        assert not failed, failed[:3]

    def many(self, count, request, read):
        """So many connections with this request on them; they are closed by the caller."""
        connections = []
        for _ in range(count):
            connection = self.proxy.connect()
            connection.sendall(request.encode())
            connections.append(connection)
        for connection in connections if read else []:
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(1 << 16)
        if not read:
            time.sleep(2)
        return connections

    def full_disk(self):
        """a disk that is full (files of at most 1 MiB)"""
        proxy, self.proxy = self.proxy, Proxy(self.program, wrapper=["bash", "-c", 'ulimit -f 1024; exec "$0" "$@"'])
        try:
            for number in range(500):
                answer = self.proxy.get(self.origin.url(f"/32?{number}"))
                assert answer.startswith(b"HTTP/1.1 200") and len(answer) > 32 << 10
            assert self.proxy.metric("farlink_cache_disk_failed_total") >= 1
            self.check()
            self.report("full_disk")
        finally:
            full, self.proxy = self.proxy, proxy
            assert full.close()[0] == 0

    def report(self, name):
        now, most = self.proxy.memory()
        text = (getattr(self, name).__doc__ or name).format(count=self.count, minutes=self.minutes)
        print(f"| {text} | {now:.1f} | {most:.1f} |", flush=True)


PHASES = ["at_rest", "idle", "slow_heads", "slow_readers", "slow_bodies", "bad_origins", "bad_clients", "full_cache", "load", "full_disk"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--only", action="append", choices=PHASES)
    args = parser.parse_args()
    soak = Soak(args.program, args.connections, args.minutes)
    print("| phase | resident at its end, MiB | at the most, MiB |\n|---|---|---|")
    soak.check()
    for name in args.only or PHASES:
        soak.proxy.memory()
        connections = getattr(soak, name)() or []
        soak.check()
        if name != "full_disk":
            soak.report(name)
        [connection.close() for connection in connections]
    code, seconds = soak.proxy.close()
    assert code == 0, code
    print(f"\nended in order in {seconds:.1f} s")


if __name__ == "__main__":
    main()
