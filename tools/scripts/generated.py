# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures that scripts write to docs/. A table stands between `<!-- begin NAME -->` and `<!-- end NAME -->`."""

import argparse
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def text_of(path):
    """Of a file in the tree; empty where there is none yet."""
    path = os.path.join(ROOT, path)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def table(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head)] + [f"| {' | '.join(row)} |" for row in rows])


def with_tables(page, tables):
    """The page's text with its tables, functions by name, made anew."""
    text = text_of(page)
    for name, make in tables.items():
        between = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->\n)", re.DOTALL)
        if not between.search(text):
            sys.exit(f"{os.path.basename(sys.argv[0])}: {page} has no place for the table '{name}'")
        text = between.sub(lambda found, make=make: f"{found[1]}{make()}\n{found[2]}", text)
    return text


def write(description, made):
    """Writes files, texts by path, or with --check says which are not current; the exit status."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = [path for path, text in made.items() if text_of(path) != text]
    if options.check and stale:
        print(*(f"{path} is not current; {os.path.basename(sys.argv[0])} writes it" for path in stale), sep="\n")
        return 1
    for path in stale:
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
            file.write(made[path])
    return 0
