#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of the cookbook's ranges and of its figures, from tools/bench/cookbook_kernels.py and from
docs/performance/cookbook.jsonl, which tools/bench/cookbook.py writes on a GPU.

    gen_cookbook_tables.py [--check]

A table stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. With --check nothing is written; the exit status is
1 if a table is not current.
"""

import argparse
import json
import os
import re
import statistics
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools", "bench"))

from cookbook_kernels import KERNELS  # noqa: E402

RESULTS = os.path.join(ROOT, "docs", "performance", "cookbook.jsonl")
WANTED_OF_COPY, WANTED_OF_PEERS = 0.85, 0.9


def against(kernel):
    return "a copy of as many bytes" if kernel.is_against_copy else kernel.peers


def table(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head)] + [f"| {' | '.join(row)} |" for row in rows])


def ranges():
    return table(("kernel", "sizes", "against"),
                 [(f"`{kernel.name}`", ", ".join(f"{name} {span}" for name, span in kernel.ranges.items()), against(kernel))
                  for kernel in KERNELS])


def ratio_of(kernel, line):
    """Against the copy, or the fastest peer; None where it was not compared."""
    if kernel.is_against_copy:
        return line.get("peers", {}).get("copy", {}).get("ratio")
    return line.get("ratio")


def figures():
    """Of each kernel its ratios, in the order of the draws."""
    with open(RESULTS, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    rows = []
    for kernel in KERNELS:
        own = [line for line in lines if line.get("kernel") == kernel.name]
        ratios = [ratio for ratio in (ratio_of(kernel, line) for line in own) if ratio is not None]
        if not own:
            rows.append((f"`{kernel.name}`", against(kernel), "not measured", "", "", ""))
            continue
        times = [line["ours_us"] for line in own if "ours_us" in line]
        right = sum(line["correct"] for line in own)
        mean = statistics.geometric_mean(ratios) if ratios else None
        wanted = WANTED_OF_COPY if kernel.is_against_copy else WANTED_OF_PEERS
        verdict = "" if mean is None or mean >= wanted else f"below {wanted}"
        rows.append((f"`{kernel.name}`" + ("" if right == len(own) else f" ({len(own) - right} of {len(own)} wrong)"),
                     against(kernel), f"{min(times):.0f} to {max(times):.0f}" if times else "",
                     ", ".join(f"{ratio:.2f}" for ratio in ratios), f"{mean:.2f}" if mean else "", verdict))
    return table(("kernel", "against", "ours, us", "ratio at each size", "mean", ""), rows)


PAGES = {"docs/cookbook.md": {"ranges": ranges}, "docs/performance/cookbook.md": {"figures": figures}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = []
    for page, tables in PAGES.items():
        path = os.path.join(ROOT, page)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        written = text
        for name, make in tables.items():
            between = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->\n)", re.DOTALL)
            if not between.search(written):
                sys.exit(f"gen_cookbook_tables.py: {page} has no place for the table '{name}'")
            written = between.sub(lambda found: f"{found[1]}{make()}\n{found[2]}", written)
        if written == text:
            continue
        stale.append(page)
        if not options.check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(written)
    if options.check and stale:
        print(*(f"{page}: a table is not current; gen_cookbook_tables.py writes it" for page in stale), sep="\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
