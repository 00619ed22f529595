"""Runs the commands and the Python of a guide in the order of the page: guide.py GUIDE.md

Blocks of `sh` that are marked <!-- run --> are run by sh, blocks of `python` share one set of names.
"""

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(
    r"(?:^<!-- run[^\n]*-->\n)?^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)

text = Path(sys.argv[1]).read_text()
names: dict[str, object] = {"__name__": "guide"}
count = 0
for block in BLOCK.finditer(text):
    kind, code = block.groups()
    line = text.count("\n", 0, block.start(2)) + 1
    if kind == "python":
        exec(compile("\n" * (line - 1) + code, sys.argv[1], "exec"), names)
    elif block.group().startswith("<!-- run"):
        subprocess.run(["sh", "-eu", "-c", code], check=True)
    else:
        continue
    count += 1
assert count > 3, f"only {count} blocks were found"
print(f"{count} blocks of {sys.argv[1]} ran")
