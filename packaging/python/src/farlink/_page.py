"""Pages as objects: a document, what it refers to, and what that waits for."""

from __future__ import annotations

import atexit
import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union
from urllib.parse import urlsplit

from . import _native
from ._native import FarlinkError

Size = Union[int, str]
"""Bytes, or text: `"30KB"`."""

Time = Union[int, str]
"""Nanoseconds, or text: `"20ms"`."""

_PRIORITIES = {
    "Document": "Highest",
    "Stylesheet": "Highest",
    "Font": "Highest",
    "Script": "High",
    "Data": "High",
    "Image": "Low",
    "Media": "Low",
    "Other": "Low",
}


@dataclass(frozen=True)
class Object:
    """A request of a page and its response; what `Page.add` returns, for `after`."""

    index: int
    url: str


class Page:
    """A page as a graph (docs/pages.md), to be loaded with `farlink.load` or saved as a page file.

        page = Page("https://shop.example/", "30KB", think="20ms")
        sheet = page.add("https://shop.example/a.css", "8KB", kind="Stylesheet", at="1KB")
        page.add("https://cdn.example/hero.jpg", "120KB", after=sheet)

    Args:
        url: the document's URL.
        size: its body as sent.
        think: the server's time from the request to the first byte.
        name: name in results; the document's host by default.
    """

    def __init__(
        self, url: str, size: Size, *, think: Time = 0, name: Optional[str] = None
    ) -> None:
        self._hosts: dict[tuple[str, Optional[int]], int] = {}
        self._objects: list[dict[str, object]] = []
        self._saved: Optional[tuple[int, str]] = None
        self.document = self._push(url, size, kind="Document", waits_for=[], think=think)
        self.name = name or urlsplit(url).hostname or "page"

    def __len__(self) -> int:
        return len(self._objects)

    def add(
        self,
        url: str,
        size: Size,
        *,
        kind: str = "Image",
        after: Union[None, Object, Sequence[Object]] = None,
        at: Optional[Size] = None,
        compute: Time = 0,
        think: Time = 0,
        priority: Optional[str] = None,
        blocks_load: bool = True,
        cacheable: bool = True,
    ) -> Object:
        """Adds an object.

        Args:
            url: its URL.
            size: its body as sent.
            kind: Document, Stylesheet, Script, Image, Font, Media, Data or Other.
            after: the objects, all of which must have arrived before it is requested; the document by default.
            at: the part of `after` that must have arrived; the whole by default.
            compute: the client's work between that and the request, on the desktop's CPU.
            think: the server's time from the request to the first byte.
            priority: Highest, High, Medium, Low or Lowest; by default as Chromium for the kind.
            blocks_load: the load event waits for it.
            cacheable: a second visit may answer it from the browser's cache.

        Raises:
            FarlinkError: a size or time cannot be read, or `kind` or `priority` is unknown.
        """
        if after is None:
            after = self.document
        sources = [after] if isinstance(after, Object) else list(after)
        if not sources:
            raise FarlinkError("`after` is empty: an object waits for another")
        for source in sources:
            if not source.index < len(self) or self._objects[source.index]["url"] != source.url:
                raise FarlinkError(f"{source.url} is not an object of this page")
        point: object = "End" if at is None else {"Bytes": _bytes(at)}
        work = {"value_ns": _nanoseconds(compute), "provenance": "Measured"}
        waits_for = [
            {"object": it.index, "after": point, "compute": work, "provenance": "Measured"}
            for it in sources
        ]
        return self._push(
            url,
            size,
            kind=kind,
            waits_for=waits_for,
            think=think,
            priority=priority,
            blocks_load=blocks_load,
            cacheable=cacheable,
        )

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a page file, which every farlink command reads."""
        target = Path(path)
        partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
        try:
            partial.write_text(self._text(), encoding="utf-8")
            _native.check_page(str(partial))
            partial.replace(target)
        except OSError as error:
            raise FarlinkError(f"cannot write {target}: {error.strerror}") from error
        finally:
            partial.unlink(missing_ok=True)

    def __str__(self) -> str:
        """Path of a page file with the page as it is now, kept until Python ends."""
        if self._saved is None or self._saved[0] != len(self):
            slug = re.sub(r"[^A-Za-z0-9._-]+", "-", self.name) or "page"
            path = Path(_folder(), f"{slug}-{id(self):x}-{len(self)}.json")
            self.save(path)
            self._saved = len(self), str(path)
        return self._saved[1]

    def __repr__(self) -> str:
        return f"<Page {self.name!r}: {len(self)} objects>"

    def _push(
        self,
        url: str,
        size: Size,
        *,
        kind: str,
        waits_for: list[dict[str, object]],
        think: Time,
        priority: Optional[str] = None,
        blocks_load: bool = True,
        cacheable: bool = True,
    ) -> Object:
        if kind not in _PRIORITIES:
            raise FarlinkError(f"there is no kind {kind!r}; known: {', '.join(_PRIORITIES)}")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise FarlinkError(f"{url!r} is not the URL of an object: https://host/path")
        host = self._hosts.setdefault((parts.hostname, parts.port), len(self._hosts))
        query = f"?{parts.query}" if parts.query else ""
        self._objects.append(
            {
                "url": url,
                "host": host,
                "path": (parts.path or "/") + query,
                "method": "GET",
                "kind": kind,
                "status": 200,
                "request_header_bytes": 400,
                "request_body_bytes": 0,
                "response_header_bytes": 300,
                "header_provenance": "Defaulted",
                "body_bytes": _bytes(size),
                "body_source": "Specified",
                "think": {"value_ns": _nanoseconds(think), "provenance": "Measured"},
                "waits_for": waits_for,
                "priority": priority or _PRIORITIES[kind],
                "blocks_load": blocks_load,
                "cacheable": cacheable,
            }
        )
        return Object(len(self._objects) - 1, url)

    def _text(self) -> str:
        hosts = [
            {
                "name": name,
                **({} if port is None else {"port": port}),
                "extra_rtt": {"value_ns": 0, "provenance": "Defaulted"},
                "recorded_protocol": None,
                "recorded_tls": False,
            }
            for name, port in self._hosts
        ]
        page = {
            "name": self.name,
            "origin": "made in Python",
            "hosts": hosts,
            "objects": self._objects,
            "skipped": [],
        }
        # In a file of version 2 farlink itself works out what blocks the first paint.
        return json.dumps({"format": "farlink-page", "version": 2, "page": page}, indent=1)


_temporary: Optional[tempfile.TemporaryDirectory[str]] = None


def _folder() -> str:
    """A folder of this process for pages that were not saved."""
    global _temporary
    if _temporary is None:
        _temporary = tempfile.TemporaryDirectory(prefix="farlink-pages-")
        atexit.register(_temporary.cleanup)
    return _temporary.name


def _bytes(size: Size) -> int:
    return _native.size_bytes(size) if isinstance(size, str) else int(size)


def _nanoseconds(time: Time) -> int:
    return _native.duration_ns(time) if isinstance(time, str) else int(time)
