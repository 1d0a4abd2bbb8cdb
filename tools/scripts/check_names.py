#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks names and form: one pass has one file, one build line and one test of
its name; every source file has its licence line, a bearable length, no path of
one machine and no promise instead of work.

    check_names.py [<root>]

Prints one line per violation; exit status 1 if there is one. Long files that
are still allowed are printed as warnings.
"""

import os
import re
import sys

SOURCES = (".h", ".cpp", ".cu", ".cuh", ".td", ".def", ".py", ".sh")
TEXTS = SOURCES + (".cmake", ".txt", ".md", ".mlir", ".json", ".in", ".test")
TOP_FOLDERS = ["runtime", "dialects", "compiler", "kernels", "tools", "test", "docs"]
LICENCE = "SPDX-License-Identifier: Apache-2.0"
LONG, TOO_LONG = 500, 800

# Folders of test/lit. Tests of the first kind are named after a pass that the
# compiler's folder of the same name declares; the others are named freely.
LIT_OF_PASSES = ["transforms", "lowering"]
LIT_FREE = ["program", "tile", "simt", "pipeline", "tlc"]

PASS = re.compile(r'^\s*def\s+(\w+)\s*:\s*(?:Interface)?Pass<\s*"([^"]*)"', re.MULTILINE)
ARGUMENT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MACHINE_PATH = re.compile(r"(?<![\w.$}>)/-])/(?:work|root|home)/")
PROMISE = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def snake_case(name):
    """PlanSharedMemory -> plan_shared_memory, TileToSimt -> tile_to_simt."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def files_under(root, top):
    """Paths of all files under a folder, relative to the root, sorted."""
    found = []
    for folder, folders, names in os.walk(os.path.join(root, top)):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def check_passes(root):
    """Passes against their files, build lines and tests."""
    arguments = {}
    for folder in sorted({os.path.dirname(path) for path in files_under(root, "compiler") if path.endswith("Passes.td")}):
        kind = os.path.basename(folder)
        files = files_under(root, folder)
        build_lines = "\n".join(read(root, path) for path in files if path.endswith("CMakeLists.txt"))
        tests = {path for path in files_under(root, f"test/lit/{kind}") if path.endswith(".mlir")}
        expected_tests = set()
        names = []
        for name, argument in PASS.findall(read(root, f"{folder}/Passes.td")):
            where = f"{folder}/Passes.td: {name}"
            names.append(name)
            if not ARGUMENT.fullmatch(argument):
                yield f'{where}: expected a pass name like "tile-infer-layouts", but got "{argument}"'
            if argument in arguments:
                yield f'{where}: "{argument}" is also the name of {arguments[argument]}'
            arguments[argument] = name
            sources = [path for path in files if os.path.basename(path) == f"{name}.cpp"]
            if len(sources) != 1:
                yield f"{where}: expected one {name}.cpp under {folder}, but found {len(sources)}"
            lines = len(re.findall(rf"(?<!\w){name}\.cpp\b", build_lines))
            if lines != 1:
                yield f"{where}: expected one line with {name}.cpp in the CMakeLists.txt of {folder}, but found {lines}"
            # One file, or several by subject: infer_layouts.mlir, infer_layouts_wgmma.mlir.
            stem = f"test/lit/{kind}/{snake_case(name)}"
            own_tests = {test for test in tests if test == f"{stem}.mlir" or test.startswith(f"{stem}_")}
            expected_tests |= own_tests
            if not own_tests:
                yield f"{where}: has no test {stem}.mlir"
        if names != sorted(names):
            yield f"{folder}/Passes.td: expected passes in alphabetical order: {', '.join(sorted(names))}"
        if kind in LIT_OF_PASSES:
            for test in sorted(tests - expected_tests):
                yield f"{test}: no pass of {folder}/Passes.td has this name"


def check_lit_folders(root):
    for path in files_under(root, "test/lit"):
        parts = path.split("/")
        if path.endswith(".mlir") and (len(parts) < 4 or parts[2] not in LIT_OF_PASSES + LIT_FREE):
            yield f"{path}: expected a folder of test/lit among {', '.join(LIT_FREE + LIT_OF_PASSES)}"


def check_text(root, path, warnings):
    """Form of one file."""
    lines = read(root, path).split("\n")
    if path.endswith(SOURCES):
        # A script begins with the line that names its interpreter.
        if not any(LICENCE in line for line in lines[:2 if lines[0].startswith("#!") else 1]):
            yield f"{path}: expected the first line to hold '{LICENCE}'"
        if len(lines) - 1 > TOO_LONG:
            yield f"{path}: expected at most {TOO_LONG} lines, but it has {len(lines) - 1}; split it by subject"
        elif len(lines) - 1 > LONG:
            warnings.append(f"{path}: {len(lines) - 1} lines; split it by subject before it has {TOO_LONG}")
    for number, line in enumerate(lines, start=1):
        if match := MACHINE_PATH.search(line):
            yield f"{path}:{number}: '{match[0]}' is a path of one machine"
        if match := PROMISE.search(line):
            yield f"{path}:{number}: '{match[0]}' promises instead of doing"


def check(root, warnings):
    """All violations under `root`, as text; what is merely long goes to `warnings`."""
    problems = list(check_passes(root)) + list(check_lit_folders(root))
    top_files = [name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name))]
    for path in sum((files_under(root, top) for top in TOP_FOLDERS), sorted(top_files)):
        if path.endswith(TEXTS):
            problems += check_text(root, path, warnings)
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    warnings = []
    problems = check(os.path.normpath(root), warnings)
    for warning in warnings:
        print(f"warning: {warning}")
    print("\n".join(problems) if problems else "names: all as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
