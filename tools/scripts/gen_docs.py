#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference pages of docs/generated from TableGen: operations,
types and attributes of each dialect, and the passes.

    gen_docs.py --tblgen <mlir-tblgen> --include <MLIR's headers> [--check]

With --check nothing is written; the exit status is 1 if a page is not current.
"""

import argparse
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGES = "docs/generated"
KINDS = [
    # (end of the page's name, title, generators)
    ("ops", "Operations", ["-gen-op-doc"]),
    ("types", "Types", ["-gen-typedef-doc"]),
    ("attrs", "Attributes", ["-gen-attrdef-doc", "-gen-enum-doc"]),
]
NOTE = "<!-- Written by tools/scripts/gen_docs.py from TableGen; edit the .td files instead. -->\n"


def generate(options, generator, path, *extra):
    """mlir-tblgen's text for a file, as its sections (name, text)."""
    command = [options.tblgen, generator, *extra, "-I", ROOT, "-I", options.include, os.path.join(ROOT, path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^(?=### )", text, flags=re.MULTILINE)[1:]
    return [(re.match(r"### (\S+)", part)[1], part.strip() + "\n") for part in parts]


def own_names(folder):
    """Names that the folder's records give to C++ classes. The generators for
    types, attributes and enums also print those of included files."""
    names = set()
    for path in glob.glob(os.path.join(ROOT, folder, "*.td")):
        with open(path, encoding="utf-8") as file:
            names |= set(re.findall(r'<\s*"(\w+)"', file.read()))
    return names


def is_own(title, names):
    return any(title == name + suffix for name in names for suffix in ("", "Type", "Attr"))


def is_of(dialect, text):
    """Whether a section's syntax, if it has one, is the dialect's: names may be those of another one's, too."""
    syntax = re.search(r"^```\n[#!](\w+)\.", text, re.MULTILINE)
    return not syntax or syntax[1] == dialect


def dialect_pages(options, folder):
    """Page name -> text for one dialect."""
    dialect = os.path.basename(folder)
    files = [f"{folder}/{name}" for name in ("Ops.td", f"{dialect.capitalize()}.td")]
    path = next(path for path in files if os.path.exists(os.path.join(ROOT, path)))
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        included = file.read()
    operations = sorted(glob.glob(f"{folder}/Ops*.td", root_dir=ROOT))
    apart = [file for file in operations if file != path and os.path.basename(file) not in included]
    names = own_names(folder)
    for end, title, generators in KINDS:
        sections = []
        for generator in generators:
            extra = [f"-dialect={dialect}"] if generator == "-gen-op-doc" else []
            for source in [path, *apart] if generator == "-gen-op-doc" else [path]:
                for name, text in generate(options, generator, source, *extra):
                    if generator == "-gen-op-doc" or (is_own(name, names) and is_of(dialect, text)):
                        sections.append(text)
        if sections:
            yield f"{dialect}_{end}.md", f"{NOTE}# {title} of `{dialect}`\n\n" + "\n".join(sections)


def pages(options):
    """Page name -> text for all."""
    found = {}
    for folder in sorted({os.path.dirname(path) for path in glob.glob("dialects/*/*.td", root_dir=ROOT)}):
        found.update(dialect_pages(options, folder))
    text = NOTE + "# Passes\n"
    for path in sorted(glob.glob("compiler/*/Passes.td", root_dir=ROOT)):
        text += f"\n## {os.path.dirname(path)}\n\n" + "\n".join(part for _, part in generate(options, "-gen-pass-doc", path))
    found["passes.md"] = text
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tblgen", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    folder = os.path.join(ROOT, PAGES)
    current = {}
    for path in glob.glob(os.path.join(folder, "*.md")):
        with open(path, encoding="utf-8") as file:
            current[os.path.basename(path)] = file.read()
    wanted = pages(options)
    stale = sorted(name for name in current.keys() | wanted.keys() if current.get(name) != wanted.get(name))
    for name in stale:
        if options.check:
            print(f"{PAGES}/{name} is not current: build the target 'docs' and commit its result")
        elif name in wanted:
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(wanted[name])
        else:
            os.remove(os.path.join(folder, name))
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
