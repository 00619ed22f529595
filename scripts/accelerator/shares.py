"""What compression leaves of texts, and which share of them came uncompressed, in recorded pages.

Usage: python3 scripts/accelerator/shares.py FOLDER      its HARs (.har, .har.gz)

The medians of gzip are the shares of `Object::compressible_to` (crates/page/src/graph.rs).
"""

import gzip
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

LEAST_BYTES = 1024
KINDS = {"html": "document", "css": "sheet", "javascript": "script", "ecmascript": "script", "json": "data", "xml": "data"}

shares = defaultdict(list)
sent = defaultdict(lambda: [0, 0])
files = [path for path in sorted(Path(sys.argv[1]).iterdir()) if path.name.endswith((".har", ".har.gz"))]
for path in files:
    stored = path.read_bytes()
    log = json.loads(gzip.decompress(stored) if stored.startswith(b"\x1f\x8b") else stored)["log"]
    for entry in log["entries"]:
        response = entry["response"]
        content = response.get("content") or {}
        media_type = (content.get("mimeType") or "").split(";")[0].lower()
        kind = next((kind for part, kind in KINDS.items() if part in media_type), None)
        fields = {field["name"].lower(): field["value"] for field in response.get("headers", [])}
        stated = fields.get("content-length", "").strip()
        on_wire = int(stated) if stated.isdigit() else response.get("bodySize", -1)
        size = content.get("size") or 0
        if kind is None or size < LEAST_BYTES or on_wire <= 0:
            continue
        coding = fields.get("content-encoding", "")
        is_coded = coding in ("gzip", "br", "zstd")
        sent[kind][not is_coded] += on_wire
        if is_coded and on_wire < size:
            shares[kind, coding].append(on_wire / size)

print(f"{len(files)} files")
for (kind, coding), values in sorted(shares.items()):
    print(f"{kind:9} {coding:5} {len(values):4} bodies, median {statistics.median(values):.2f}")
for kind, (coded, plain) in sorted(sent.items()):
    print(f"{kind:9} {plain / (coded + plain):.0%} of the bytes came uncompressed")
