"""Fetches URLs and writes what came as a WARC file, with warcio: record.py FILE URL..."""

import sys

# warcio wants to be loaded before what it listens to.
from warcio.capture_http import capture_http

import http.client
from urllib.parse import urlsplit

with capture_http(sys.argv[1]):
    for url in sys.argv[2:]:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc)
        connection.request("GET", parts.path)
        connection.getresponse().read()
        connection.close()
