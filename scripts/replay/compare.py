"""Compares live loads with replayed ones: FOLDER LOADS PROTOCOL... Exits with 1 if a request is missing, something differs, or median load times by more than 3 %."""

import gzip
import json
import pathlib
import statistics
import sys
import zipfile

folder, loads, protocols = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]


class Load:
    """A WACZ file: load time, and of each request its URL without what a page makes up, its connection, its body."""

    def __init__(self, path):
        records = gzip.decompress(zipfile.ZipFile(path).read("archive/data.warc.gz")).split(b"WARC/1.1\r\n")
        self.requests, self.bodies, self.connections = [], {}, {}
        for record in records:
            head, _, block = record.partition(b"\r\n\r\n")
            target = next((line.split(b": ", 1)[1].decode() for line in head.split(b"\r\n") if line.startswith(b"WARC-Target-URI")), "")
            if target.startswith("urn:farlink:load:"):
                self.loaded = json.loads(block)["loadedMs"]
            elif target.startswith("urn:farlink:exchange:"):
                url, notes = target.removeprefix("urn:farlink:exchange:").split("?")[0], json.loads(block)
                self.requests.append(url)
                self.connections.setdefault(notes["connection"], set()).add(url.split("/")[2])
            elif b"WARC-Type: response" in head:
                self.bodies[target.split("?")[0]] = block.partition(b"\r\n\r\n")[2][:-4]
        self.requests.sort()
        # Of two requests to a host begun at once either may open the connection; hosts and their numbers of connections stay.
        self.connections = sorted(sorted(hosts) for hosts in self.connections.values())


MOST = 0.03
failed = False
print(f"{'':8}{'live':>10}{'replay':>10}{'differs':>10}  {'range live':>16}  {'range replay':>16}  requests  connections  missing  similar  bodies")
for protocol in protocols:
    pairs = range(1, loads + 1)
    live = [Load(folder / f"{protocol}-live-{at}.wacz") for at in pairs]
    replay = [Load(folder / f"{protocol}-replay-{at}.wacz") for at in pairs]
    accounts = [json.loads((folder / f"{protocol}-replay-{at}.wacz.json").read_text())["replay"] for at in pairs]
    medians = [statistics.median(load.loaded for load in side) for side in (live, replay)]
    ranges = [f"{min(load.loaded for load in side):.0f} to {max(load.loaded for load in side):.0f}" for side in (live, replay)]
    missing = sum(account["missing"] + account["unknown_names"] for account in accounts)
    similar = max(account["inexact"] for account in accounts)
    same_requests = all(load.requests == live[0].requests for load in live + replay)
    same_bodies = all(load.bodies == live[0].bodies for load in live + replay)
    # Over h1 the number of connections to a host depends on which of two responses ends first, in live loads as in replays.
    usual = lambda side: statistics.mode(str(load.connections) for load in side)
    times = lambda side, connections: sum(str(load.connections) == connections for load in side)
    same_connections = times(live, usual(replay)) > 0 and times(replay, usual(live)) > 0
    failed |= missing > 0 or not (same_requests and same_bodies and same_connections)
    failed |= abs(medians[1] / medians[0] - 1) > MOST
    say = lambda same: "same" if same else "DIFFER"
    print(
        f"{protocol:8}{medians[0]:7.0f} ms{medians[1]:7.0f} ms{100 * (medians[1] / medians[0] - 1):+9.1f}%  {ranges[0]:>16}  {ranges[1]:>16}"
        f"  {say(same_requests):8}  {say(same_connections):11}  {missing:7}  {similar:7}  {say(same_bodies)}"
    )
    for connections in sorted({usual(live), usual(replay)}):
        print(f"  in {times(live, connections)} live loads and {times(replay, connections)} replays of {loads}: {connections}")
sys.exit(failed)
