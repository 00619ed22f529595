"""Writes a shop of four hosts for scripts/replay/check.sh: FOLDER/{www,cdn,api}. Its pages ask for URLs of their own making."""

import pathlib
import random
import struct
import sys
import zlib

random.seed(1)
folder = pathlib.Path(sys.argv[1])


def noise(size):
    return bytes(random.getrandbits(8) for _ in range(size))


def png(width, height):
    rows = b"".join(b"\0" + noise(3 * width) for _ in range(height))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def put(path, content):
    path = folder / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


images = [f"i{number}.png" for number in range(12)]
words = "".join(f"<p>{f'lorem ipsum dolor {number * 7919 % 997} ' * 20}</p>" for number in range(120))
pictures = "".join(
    f"<img src=https://{'cdn' if number % 2 else 'img'}.shop.test/{name}>" for number, name in enumerate(images)
)
script = """
fetch('https://api.other.test/list?_=' + Date.now()).then(list => list.text());
fetch('https://api.other.test/order', {method: 'POST', body: 'id=' + Math.random()}).then(order => order.text()).then(() => {
  new Image().src = 'https://api.other.test/pixel.gif?r=' + Math.random();
});
"""
put(
    "www/index.html",
    "<!doctype html><html><head><meta charset=utf-8><title>Shop</title><link rel=icon href=data:,>"
    "<link rel=stylesheet href=https://cdn.shop.test/a.css><link rel=stylesheet href=/b.css>"
    f"<script src=https://cdn.shop.test/app.js></script></head><body>{words}{pictures}<script>{script}</script></body></html>",
)
put("www/b.css", "".join(f".c{number}{{color:#{number:06x};margin:{number}px}}\n" for number in range(800)))
put(
    "cdn/a.css",
    "@font-face{font-family:F;src:url(f.woff2)}body{font-family:F;background:url(bg.png)}\n"
    + "".join(f".d{number}{{padding:{number}px}}\n" for number in range(1500)),
)
put("cdn/f.woff2", noise(30_000))
put("cdn/bg.png", png(80, 80))
put("cdn/app.js", "".join(f"function f{number}(x){{return x*{number}+{number * 31 % 101}}}\n" for number in range(3000)))
for number, name in enumerate(images):
    put(f"cdn/{name}", png(60 + 10 * number, 60))
put("api/list", "[1,2,3]")
put("api/order", '{"ok":true}')
put("api/pixel.gif", b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;")
