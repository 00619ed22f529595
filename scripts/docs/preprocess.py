"""mdBook preprocessor for links.

A chapter that consists of a link alone stands for the file that it leads to, outside of docs/: it gets that file's text, and links
to the file lead to the chapter. Other links that leave the book, to a file of the repository, become plain text. A link whose text is
the name of a file gets the title of the chapter as its text.
"""

import json
import os
import re
import sys

ALONE = re.compile(r"\s*\[[^\]\n]*\]\(([^)#:\s]+)\)\s*")
LINK = re.compile(r"\[([^\]\n]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```|~~~)")


def chapters(items):
    for item in items:
        if "Chapter" in item:
            yield item["Chapter"]
            yield from chapters(item["Chapter"]["sub_items"])


def rewrite(text, replace):
    """`text` with each link outside of code blocks replaced."""
    inside = False
    lines = []
    for line in text.split("\n"):
        if FENCE.match(line):
            inside = not inside
        lines.append(line if inside else LINK.sub(replace, line))
    return "\n".join(lines)


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    context, book = json.load(sys.stdin)
    source = os.path.normpath(os.path.join(context["root"], context["config"]["book"]["src"]))
    pages = [chapter for chapter in chapters(book["items"]) if chapter.get("path")]

    # The file that each chapter's text comes from, and the chapter that shows each file.
    origin = {}
    for chapter in pages:
        page = os.path.join(source, chapter["path"])
        alone = ALONE.fullmatch(chapter["content"])
        origin[chapter["path"]] = os.path.normpath(os.path.join(os.path.dirname(page), alone[1])) if alone else page
        if alone:
            with open(origin[chapter["path"]], encoding="utf-8") as file:
                chapter["content"] = file.read()
    shown = {origin[chapter["path"]]: chapter for chapter in pages}

    for chapter in pages:
        folder = os.path.dirname(origin[chapter["path"]])

        def replace(link):
            name, target, anchor = link[1], link[2], link[3] or ""
            if ":" in target:
                return link[0]
            file = os.path.normpath(os.path.join(folder, target))
            repository = os.path.relpath(file, os.path.dirname(source))
            if file in shown:
                page = shown[file]
                way = os.path.relpath(page["path"], os.path.dirname(chapter["path"]) or ".")
                text = page["name"] if name in (repository, os.path.basename(file)) else name
                return f"[{text}]({way}{anchor})"
            if not file.startswith(source + os.sep) and os.path.exists(file):
                return name if name == repository else f"{name} (`{repository}`)"
            return link[0]

        chapter["content"] = rewrite(chapter["content"], replace)
    json.dump(book, sys.stdout)


main()
