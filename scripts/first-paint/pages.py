#!/usr/bin/env python3
"""Serves small pages that differ in what blocks their first paint: `pages.py PORT`."""

import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KB = 1000


def noise(size, seed):
    """Letters that do not compress."""
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=size))


def css(size, rules="h1{color:#124}"):
    return rules + "/*" + noise(size, size) + "*/"


def js(size, code=""):
    return code + "/*" + noise(size, size) + "*/"


def html(head, body, size=6 * KB):
    text = f"<!doctype html><html><head><meta charset=utf-8><link rel=icon href=data:,>{head}</head><body>{body}"
    return text + f"<!--{noise(max(size - len(text), 0), size)}--></body></html>"


TEXT = "<h1>A shop</h1><p>Some words that are read first.</p>"
IMAGES = "".join(f'<img src="{n}.svg" width=200 height=100>' for n in range(4))
SHEET = '<link rel=stylesheet href="a.css">'
INSERT = (
    "var l=document.createElement('link');l.rel='stylesheet';l.href='a.css';document.head.append(l)"
)

# By name: the document, and the other files.
PAGES = {
    "head-sheet": (html(SHEET, TEXT + IMAGES), {"a.css": css(60 * KB)}),
    "head-script": (html('<script src="a.js"></script>', TEXT + IMAGES), {"a.js": js(120 * KB)}),
    "bottom-script": (
        html(SHEET, TEXT + IMAGES + '<script src="a.js"></script>'),
        {"a.css": css(5 * KB), "a.js": js(200 * KB)},
    ),
    "async-defer-module": (
        html(
            SHEET + '<script async src="a.js"></script><script defer src="b.js"></script>'
            '<script type=module src="c.js"></script>',
            TEXT + IMAGES,
        ),
        {"a.css": css(5 * KB), "a.js": js(150 * KB), "b.js": js(100 * KB), "c.js": js(50 * KB)},
    ),
    "print-sheet": (
        html(SHEET + '<link rel=stylesheet media=print href="p.css">', TEXT + IMAGES),
        {"a.css": css(10 * KB), "p.css": css(150 * KB)},
    ),
    "imports": (
        html(SHEET, TEXT + IMAGES),
        {
            "a.css": '@import "b.css";' + css(5 * KB),
            "b.css": '@import "c.css";' + css(20 * KB),
            "c.css": css(30 * KB),
        },
    ),
    "font": (
        html(SHEET, TEXT + IMAGES),
        {
            "a.css": css(8 * KB, "@font-face{font-family:f;src:url(f.woff2)}p{font-family:f}"),
            "f.woff2": noise(80 * KB, 3),
        },
    ),
    "inline": (html("<style>h1{color:red}</style>", TEXT + IMAGES, 60 * KB), {}),
    "frame": (
        html(SHEET, TEXT + '<iframe src="frame.html"></iframe>' + IMAGES),
        {
            "a.css": css(5 * KB),
            "frame.html": html('<link rel=stylesheet href="f.css">', "framed"),
            "f.css": css(120 * KB),
        },
    ),
    "late-sheet": (
        html(SHEET, TEXT + IMAGES + '<link rel=stylesheet href="late.css"><p>More.</p>'),
        {"a.css": css(5 * KB), "late.css": css(150 * KB)},
    ),
    "inserted-sheet": (
        html('<script async src="a.js"></script>', TEXT + IMAGES, 20 * KB),
        {"a.js": js(20 * KB, INSERT + ";"), "a.css": css(100 * KB)},
    ),
    "preloads": (
        html(
            '<link rel=preload as=image href="0.svg"><link rel=preload as=script href="d.js">'
            + SHEET
            + '<script defer src="d.js"></script>',
            TEXT + IMAGES,
        ),
        {"a.css": css(40 * KB), "d.js": js(150 * KB)},
    ),
    "early-body-script": (
        html(SHEET, '<script src="a.js"></script>' + TEXT + IMAGES),
        {"a.css": css(5 * KB), "a.js": js(80 * KB)},
    ),
    "shop": (
        html(
            SHEET + '<script src="v.js"></script><script src="a.js"></script>',
            TEXT + IMAGES + '<script src="t.js"></script>',
            30 * KB,
        ),
        {
            "a.css": css(50 * KB),
            "v.js": js(150 * KB),
            "a.js": js(60 * KB, "fetch('cart.json');"),
            "t.js": js(90 * KB),
            "cart.json": "{}",
        },
    ),
}

TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "html": "text/html",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
    "json": "application/json",
}


def svg(number):
    shape = f'<rect width="200" height="100" fill="#{number}{number}8"/>'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100">{shape}'
    return f"{start}<!--{noise(20 * KB, number)}--></svg>"


def answer(path):
    """The body and the media type at `path`; nothing if there is none."""
    _, page, file = (path.split("/", 2) + ["", ""])[:3]
    if page not in PAGES:
        return None
    document, files = PAGES[page]
    if file == "":
        return document, "text/html"
    kind = TYPES.get(file.rsplit(".", 1)[-1])
    if file.endswith(".svg") and file[:-4].isdigit():
        return svg(int(file[:-4])), kind
    return (files[file], kind) if file in files else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        found = answer(self.path)
        body, kind = found or ("", "text/plain")
        body = body.encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
