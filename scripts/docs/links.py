"""Link checker: links.py SITE DOCS FILE...

Fails on a link within SITE, a built mdBook, to a page or an anchor that is not there; on a Markdown file below DOCS that
SUMMARY.md leaves out; and on a relative link in FILE, Markdown of the repository, to a file that does not exist.
Addresses on the web are counted and not asked.
"""

import os
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

LINK = re.compile(r"\]\(([^)\s]+)\)")


class Page(HTMLParser):
    """The anchors of a page, and its links with their lines."""

    def __init__(self, path):
        super().__init__()
        self.anchors = set()
        self.links = []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if attributes.get("id"):
            self.anchors.add(attributes["id"])
        if tag == "a" and attributes.get("name"):
            self.anchors.add(attributes["name"])
        for name in "href", "src":
            if attributes.get(name):
                self.links.append(attributes[name])


def below(folder, extension):
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(extension):
                yield os.path.join(place, name)


def broken_in_site(site):
    """The number of links in the site, of those to the web, and a line for each broken one."""
    pages = {path: Page(path) for path in sorted(below(site, ".html"))}
    count, web, broken = 0, 0, []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                web += 1
                continue
            count += 1
            target = path
            if parts.path:
                folder = site if os.path.basename(path) == "404.html" else os.path.dirname(path)
                target = os.path.normpath(os.path.join(folder, unquote(parts.path).lstrip("/")))
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if not os.path.exists(target):
                broken.append(f"{os.path.relpath(path, site)}: no file for {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{os.path.relpath(path, site)}: no anchor for {link}")
    return count, web, broken


def left_out(docs):
    with open(os.path.join(docs, "SUMMARY.md"), encoding="utf-8") as file:
        listed = {os.path.normpath(link) for link in LINK.findall(file.read())}
    for path in sorted(below(docs, ".md")):
        name = os.path.relpath(path, docs)
        if name != "SUMMARY.md" and name not in listed:
            yield f"{path}: not in {docs}/SUMMARY.md"


def broken_in_file(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            for link in LINK.findall(line):
                parts = urlsplit(link)
                target = os.path.join(os.path.dirname(path), unquote(parts.path))
                if not parts.scheme and parts.path and not os.path.exists(target):
                    yield f"{path}:{number}: no file for {link}"


def main():
    site, docs, *files = sys.argv[1:]
    count, web, broken = broken_in_site(site)
    broken += left_out(docs)
    for file in files:
        broken += broken_in_file(file)
    for line in sorted(set(broken)):
        print(f"error: {line}", file=sys.stderr)
    if broken:
        sys.exit(1)
    print(f"{count} links within the site lead somewhere ({web} to the web were not tried)")


main()
