"""Compares h2spec's report with the cases that are known to fail: compare.py REPORT SECURITY EXPECTED

EXPECTED has lines `SECURITY SECTION CASE  reason`: exactly these must fail.
"""

import sys
import xml.etree.ElementTree as xml
from collections import Counter

report, security, expected = sys.argv[1:]
known = set()
for line in open(expected):
    words = line.split(maxsplit=3)
    if words and words[0] == security:
        known.add((words[1], words[2]))

failed, total, numbers = {}, 0, Counter()
for case in xml.parse(report).iter("testcase"):
    section = case.get("package")
    numbers[section] += 1
    total += 1
    problem = case.find("failure") if case.find("failure") is not None else case.find("error")
    if problem is not None or case.find("skipped") is not None:
        failed[section, str(numbers[section])] = case.get("classname")

for case in sorted(failed.keys() - known):
    print(f"fails: {security} {' '.join(case)}: {failed[case]}", file=sys.stderr)
for case in sorted(known - failed.keys()):
    print(f"passes, though it is said to fail: {security} {' '.join(case)}", file=sys.stderr)
if total < 140:
    sys.exit(f"error: h2spec ran {total} cases only")
if failed.keys() != known:
    sys.exit(1)
print(f"ok: h2spec over {security}: {total - len(failed)} of {total} cases pass, {len(failed)} fail as documented")
