#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks README.md and the pages of docs/: what they quote, and the files they name.

    check_pages.py [--write] [--tlc <tlc>] [<root>]

A comment in front of a block of code says where it is from:

    <!-- quote test/docs/Basics.cpp scaled-add -->

is the text between the two lines `// [scaled-add]` of that file (or
`# [scaled-add]`), word for word.

    <!-- quote kernels/gemm/Gemm.cpp: void plainGemm -->

is the definition there that begins with this text, to the closing brace at
the margin. With --write the blocks are replaced by what they quote.

    <!-- dumps gemm -D form=plain -->
    <!-- excerpt 00-input.mlir -->

is a part of a file that `tlc compile <arguments of dumps> --dump-dir` writes.
A line `...` stands for any lines, `...` in a line for any text; names of
values, numbers of aliases and white space do not matter. Without --tlc
excerpts are not checked.

Links lead somewhere, and a path of the project in backquotes exists.
docs/remarks.md has a section for each id of compiler/analysis/Remarks.h and of
kernels/Registry.h, in this order, and for no other; no remark begins without an id of the table.

Prints one line per difference; exit status 1 if there is one.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"<!-- (quote|excerpt) ([^\n]*?) -->\n(```[^\n]*\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
DUMPS = re.compile(r"<!-- dumps ([^\n]*?) -->")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:runtime|dialects|compiler|kernels|tools|test|docs)/[\w./*-]*)`")
MARKER = re.compile(r"\s*(?://|#) \[([\w.-]+)\]\s*")


def dedent(lines):
    used = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in used), default=0)
    return [line[margin:].rstrip() for line in lines]


def lines_of(root, path):
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read().split("\n")
    except OSError as error:
        raise ValueError(f"cannot read '{path}': {error.strerror}") from error


def definition(root, path, beginning):
    """The lines from the one that begins so to the brace that ends it."""
    lines = lines_of(root, path)
    starts = [number for number, line in enumerate(lines) if line.startswith(beginning)]
    if len(starts) != 1:
        raise ValueError(f"expected one line that begins with '{beginning}' in '{path}', but found {len(starts)}")
    for end in range(starts[0], len(lines)):
        if lines[end].startswith("}"):
            return "\n".join(lines[starts[0]:end + 1]) + "\n"
    raise ValueError(f"found no end of '{beginning}' in '{path}'")


def quoted(root, source):
    """What a quote names; an error as an exception."""
    path, _, beginning = source.partition(": ")
    return definition(root, path, beginning) if beginning else snippet(root, *source.split())


def snippet(root, path, name):
    """The text between the markers of that name."""
    lines = lines_of(root, path)
    marks = [number for number, line in enumerate(lines) if (found := MARKER.fullmatch(line)) and found[1] == name]
    if len(marks) != 2:
        raise ValueError(f"expected two lines with [{name}] in '{path}', but found {len(marks)}")
    inner = [line for line in lines[marks[0] + 1:marks[1]] if not MARKER.fullmatch(line)]
    return "\n".join(dedent(inner)).strip("\n") + "\n"


def normal(line):
    """A line of a dump without what may change when nothing does."""
    line = re.sub(r"%[\w$.#-]+", "%", line)
    line = re.sub(r"(#[a-z_]+)\d+\b", r"\1", line)
    return re.sub(r"\s+", " ", line).strip()


def pattern_of(line):
    return re.compile(".*".join(re.escape(part.strip()) for part in normal(line).split("...")))


def find_excerpt(excerpt, text):
    """The first line of the excerpt that the text does not have in its place, or None."""
    lines = [normal(line) for line in text.split("\n")]
    parts, part = [], []
    for line in excerpt.rstrip("\n").split("\n"):
        if line.strip() == "...":
            parts.append(part)
            part = []
        else:
            part.append(line)
    parts.append(part)
    start = 0
    for part in filter(None, parts):
        patterns = [pattern_of(line) for line in part]
        best = 0
        for at in range(start, len(lines)):
            count = 0
            while count < len(patterns) and at + count < len(lines) and patterns[count].fullmatch(lines[at + count]):
                count += 1
            best = max(best, count)
            if count == len(patterns):
                start = at + count
                break
        else:
            return part[best]
    return None


def dumps_of(tlc, arguments, folder):
    """Lets tlc write the phases of a kernel into a folder."""
    command = [tlc, "compile", *arguments.split(), "--dump-dir", folder, "-o", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"'{' '.join(command)}' failed: {done.stderr.strip()}")


class Page:
    def __init__(self, root, path, tlc):
        self.root, self.path, self.tlc = root, path, tlc
        self.problems = []
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.text = file.read()

    def problem(self, position, message):
        self.problem_at(self.text, position, message)

    def problem_at(self, text, position, message):
        self.problems.append(f"{self.path}:{text.count(chr(10), 0, position) + 1}: {message}")

    def check(self, write):
        """The page's text as it should be."""
        with tempfile.TemporaryDirectory() as folder:
            dumped = self.make_dumps(folder)
            return BLOCK.sub(lambda match: self.check_block(match, write, folder if dumped else None), self.text)

    def check_names(self):
        """Links and paths."""
        prose = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), self.text, flags=re.MULTILINE | re.DOTALL)
        for match in LINK.finditer(prose):
            target = os.path.join(self.root, os.path.dirname(self.path), match[1])
            if "://" not in match[1] and not os.path.exists(target):
                self.problem_at(prose, match.start(), f"the link to '{match[1]}' leads nowhere")
        for match in PATH.finditer(prose):
            if not glob.glob(os.path.join(self.root, match[1])):
                self.problem_at(prose, match.start(), f"'{match[1]}' does not exist")

    def make_dumps(self, folder):
        found = DUMPS.search(self.text)
        if not found or not self.tlc:
            return False
        try:
            dumps_of(self.tlc, found[1], folder)
        except ValueError as error:
            self.problem(found.start(), str(error))
            return False
        return True

    def check_block(self, match, write, dumps):
        kind, source, fence, body, end = match.groups()
        try:
            if kind == "quote":
                wanted = quoted(self.root, source)
                if wanted == body:
                    return match[0]
                if not write:
                    raise ValueError(f"is not what '{source}' is: run tools/scripts/check_pages.py --write")
                return f"<!-- {kind} {source} -->\n{fence}{wanted}{end}"
            if dumps:
                path = os.path.join(dumps, source)
                if not os.path.exists(path):
                    raise ValueError(f"no '{source}' was dumped")
                with open(path, encoding="utf-8") as file:
                    missing = find_excerpt(body, file.read())
                if missing is not None:
                    raise ValueError(f"{source} has no such line at this place: {missing.strip()}")
        except ValueError as error:
            self.problem(match.start(), str(error))
        return match[0]


def check_remarks(root):
    """Ids of remarks against the sections of their page."""
    header, path = "compiler/analysis/Remarks.h", "docs/remarks.md"
    ids = []
    for source in [header, "kernels/Registry.h"]:
        table = re.search(r"emarkIds = \{(.*?)\};", "\n".join(lines_of(root, source)), re.DOTALL)
        ids += re.findall(r'"([\w-]+)"', table[1]) if table else []
    sections = [line[3:] for line in lines_of(root, path) if line.startswith("## ")]
    problems = [f"{path}: expected a section '## {id}' because {header} has this id" for id in ids if id not in sections]
    problems += [f"{path}: section '{section}' is no id of {header}" for section in sections if section not in ids]
    if not problems and (sections != ids or not ids):
        problems.append(f"{path}: expected the sections in the order of {header}: {', '.join(ids)}")
    for source in sorted(glob.glob("compiler/**/*.cpp", root_dir=root, recursive=True)):
        if source == "compiler/analysis/Remarks.cpp":
            continue
        for number, line in enumerate(lines_of(root, source)):
            if re.search(r"(\.|->|mlir::)emitRemark\(", line):
                problems.append(f"{source}:{number + 1}: expected emitRemark(op, RemarkId::..), so that the remark has an id")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="bring quotes up to date")
    parser.add_argument("--tlc", help="check excerpts of dumps, too, with this compiler")
    parser.add_argument("root", nargs="?", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    options = parser.parse_args()
    root = os.path.normpath(options.root)

    problems = []
    for path in ["README.md"] + sorted(glob.glob("docs/**/*.md", root_dir=root, recursive=True)):
        if not os.path.exists(os.path.join(root, path)):
            continue
        page = Page(root, path, options.tlc)
        wanted = page.check(options.write)
        page.check_names()
        problems += page.problems
        if wanted != page.text:
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(wanted)
    problems += check_remarks(root)
    print("\n".join(problems) if problems else "pages: all as in the sources")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
