# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a text and compares what they print with what the text says.

    session.py <text> <tlc> <empty folder>

A line `$ command` is run by the shell in the folder, where `tlc` is the given one; the lines after it, to the next
command or to a line `# [name]` that marks a part for pages, are what it prints to both streams. `...` stands for any
text in a line, and for any lines on one of its own. A command may end with an error.
"""
import os
import re
import subprocess
import sys


def matches(expected, printed):
    """Whether the lines are as expected."""
    if not expected:
        return not printed
    if expected[0].strip() == "...":
        return any(matches(expected[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    pattern = ".*".join(re.escape(part) for part in expected[0].split("..."))
    return bool(printed) and bool(re.fullmatch(pattern, printed[0])) and matches(expected[1:], printed[1:])


def main():
    text, tlc, folder = sys.argv[1:]
    steps = []
    with open(text, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps and not line.startswith("# "):
                steps[-1][1].append(line)
    os.makedirs(folder, exist_ok=True)
    tools = os.path.dirname(os.path.abspath(tlc))
    environment = {**os.environ, "PATH": tools + os.pathsep + os.environ["PATH"]}
    for command, expected in steps:
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        printed = [line.rstrip() for line in done.stdout.splitlines()]
        while expected and not expected[-1]:
            expected.pop()
        if not matches([line.rstrip() for line in expected], printed):
            print(f"$ {command}\nexpected:", *expected, "printed:", *printed, sep="\n")
            return 1
    print(f"{len(steps)} commands: all as in the text")
    return 0


if __name__ == "__main__":
    sys.exit(main())
