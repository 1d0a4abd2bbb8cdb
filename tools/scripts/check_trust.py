#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what docs/security.md says of the sources: no shell runs, and each variable of the environment is in its table.

    check_trust.py [<root>]

Prints one line per violation; exit status 1 if there is one.
"""

import os
import re
import sys

FOLDERS = ["runtime", "dialects", "compiler", "kernels", "tools/aot", "tools/emulate", "tools/libtlc", "tools/python", "tools/tlc",
           "tools/wrap"]
SHELL = re.compile(r"(?<![\w.>])(?:std::|::|os\.)?(?:system|popen|execlp|execvp|wordexp)\(|shell=True|/bin/sh\b")
READ = re.compile(r'(?:getenv|environ\.get)\((?:"(\w+)"|(\w+))|environ\["(\w+)"\]')
NAME = re.compile(r'"([A-Z][A-Z0-9_]+)"')
ROW = re.compile(r"^\| `(\w+)`(?:, `(\w+)`)* \|", re.MULTILINE)


def violations(text, path, documented):
    """Lines about one source file."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        code = line.split("//")[0] if not path.endswith(".py") else line.split("#")[0]
        if SHELL.search(code):
            yield f"{path}:{number + 1}: expected no shell, but got '{line.strip()}'"
        for literal, variable, item in READ.findall(code):
            # A loop over names has them in the lines before.
            names = [literal or item] if not variable else NAME.findall("\n".join(lines[max(0, number - 3):number + 1]))
            for name in names:
                if name not in documented:
                    yield f"{path}:{number + 1}: expected a row of docs/security.md for the variable {name}, but found none"


def documented_in(page):
    return {name for row in ROW.finditer(page) for name in re.findall(r"`(\w+)`", row.group(0))}


def main(root):
    with open(os.path.join(root, "docs/security.md"), encoding="utf-8") as file:
        documented = documented_in(file.read())
    found = []
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith((".h", ".cpp", ".py")):
                    path = os.path.join(place, name)
                    with open(path, encoding="utf-8") as file:
                        found += violations(file.read(), os.path.relpath(path, root), documented)
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")))
