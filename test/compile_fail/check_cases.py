#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every case of a source file by itself and compares the errors with
what the case expects.

    check_cases.py --source cases.cpp -- <compiler> <flags>...

A case begins with `#if CASE == <name>`, followed by a line `// expected: <text>`
that the compiler's errors must contain, or `// expected: none`. Texts for
different compilers are separated by " | ". Prints a line per case that is not as
expected; exit status 1 if there is one.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

CASE = re.compile(r"^#if CASE == (\w+)\n\s*// expected: (.*)$", re.MULTILINE)
INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)
NOTHING = "none"


def precompile(command, source_text, folder):
    """Compiles what the source includes, which takes longer than a case; returns the command for a case."""
    header = os.path.join(folder, "includes.h")
    with open(header, "w", encoding="utf-8") as file:
        file.writelines(INCLUDE.findall(source_text))
    subprocess.run([*command, "-x", "c++-header", header, "-o", header + ".gch"], check=True)
    return [*command, "-fsyntax-only", "-include", header]


def problem_of(command, source, number, name, expected):
    """What is wrong with one case, or None."""
    done = subprocess.run([*command, f"-D{name}={number}", f"-DCASE={number}", source], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"})
    if expected == NOTHING:
        return None if done.returncode == 0 else f"{name}: expected no errors, but got\n{done.stderr}"
    if done.returncode == 0:
        return f"{name}: expected an error with '{expected}', but it compiles"
    if not any(text in done.stderr for text in expected.split(" | ")):
        return f"{name}: expected an error with '{expected}', but got\n{done.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with open(options.source, encoding="utf-8") as file:
        text = file.read()
    cases = CASE.findall(text)
    if not cases:
        parser.error(f"expected cases in {options.source}, but found none")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max_workers=2) as pool:
        command = precompile(options.command, text, folder)
        jobs = [pool.submit(problem_of, command, options.source, number, name, expected)
                for number, (name, expected) in enumerate(cases, start=1)]
        problems = [problem for job in jobs if (problem := job.result())]
    print("\n".join(problems) if problems else f"{len(cases)} cases are as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
