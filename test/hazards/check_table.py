#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tables of docs/hazards.md against the tests that they name: each
report has its name in the file of its row, each rule is a test case's and what
its finding says stands in that file, and each test case of test/hazards has a
row. Prints one line per mistake; exit status 1 if there is one.

    check_table.py [<root>]
"""

import glob
import os
import re
import sys

ROW = re.compile(r"^\| ([\w-]+#\d+)[^|]* \| .* \| (\S+) \|$", re.MULTILINE)
RULE = re.compile(r"^\| (.+?) \| (.+) \| (test/unit/\S+) \|$", re.MULTILINE)
CASE = re.compile(r'^TEST_CASE\("([\w-]+#\d+): ', re.MULTILINE)
ANY_CASE = re.compile(r'^TEST_CASE\("(.*?)"', re.MULTILINE)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def check(root):
    problems = []
    page = read(root, "docs/hazards.md")
    rows, rules = ROW.findall(page), RULE.findall(page)
    if not rows or not rules:
        problems.append("docs/hazards.md: a table has no rows")
    for rule, says, path in rules:
        if not os.path.exists(os.path.join(root, path)):
            problems.append(f"docs/hazards.md: '{rule}': '{path}' does not exist")
        elif rule not in ANY_CASE.findall(read(root, path)):
            problems.append(f"docs/hazards.md: no test case of {path} has the name '{rule}'")
        elif says not in re.sub(r'"\s*"', "", read(root, path)):
            problems.append(f"docs/hazards.md: '{rule}': {path} does not expect '{says}'")
    for report, path in rows:
        if not os.path.exists(os.path.join(root, path)):
            problems.append(f"docs/hazards.md: {report}: '{path}' does not exist")
        elif path.startswith("test/hazards/"):
            if report not in CASE.findall(read(root, path)):
                problems.append(f"docs/hazards.md: {report}: no test case of {path} has that name")
        elif report + ":" not in read(root, path):
            problems.append(f"docs/hazards.md: {report}: {path} does not name it")
    for path in sorted(glob.glob("test/hazards/*Test.cpp", root_dir=root)):
        for name in ANY_CASE.findall(read(root, path)):
            if not any(name.startswith(report + ": ") and of == path for report, of in rows):
                problems.append(f"{path}: '{name}' has no row in docs/hazards.md")
    return problems


def main():
    problems = check(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../.."))
    print("\n".join(problems) if problems else "hazards: every row has its test")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
