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
from concurrent.futures import ThreadPoolExecutor

CASE = re.compile(r"^#if CASE == (\w+)\n\s*// expected: (.*)$", re.MULTILINE)
NOTHING = "none"


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
        cases = CASE.findall(file.read())
    if not cases:
        parser.error(f"expected cases in {options.source}, but found none")
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(problem_of, options.command, options.source, number, name, expected)
                for number, (name, expected) in enumerate(cases, start=1)]
        problems = [problem for job in jobs if (problem := job.result())]
    print("\n".join(problems) if problems else f"{len(cases)} cases are as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
