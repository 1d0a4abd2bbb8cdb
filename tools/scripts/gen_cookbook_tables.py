#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of the cookbook's ranges and of its figures, and a picture of these, from
tools/bench/cookbook_kernels.py and from docs/performance/cookbook.jsonl, which tools/bench/cookbook.py writes on a GPU.

    gen_cookbook_tables.py [--check]

A table stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. With --check nothing is written; the exit status is
1 if a table is not current.
"""

import json
import math
import os
import statistics
import sys

from generated import ROOT, table, with_tables, write

sys.path.insert(0, os.path.join(ROOT, "tools", "bench"))

from cookbook_kernels import KERNELS  # noqa: E402

RESULTS = os.path.join(ROOT, "docs", "performance", "cookbook.jsonl")
WANTED_OF_COPY, WANTED_OF_PEERS = 0.85, 0.9


def against(kernel):
    return "a copy of as many bytes" if kernel.is_against_copy else kernel.peers


def ranges():
    return table(("kernel", "sizes", "against"),
                 [(f"`{kernel.name}`", ", ".join(f"{name} {span}" for name, span in kernel.ranges.items()), against(kernel))
                  for kernel in KERNELS])


def ratio_of(kernel, line):
    """Against the copy, or the fastest peer; None where it was not compared."""
    if kernel.is_against_copy:
        return line.get("peers", {}).get("copy", {}).get("ratio")
    return line.get("ratio")


def wanted_of(kernel):
    return WANTED_OF_COPY if kernel.is_against_copy else WANTED_OF_PEERS


def results():
    """The kernels and their lines."""
    with open(RESULTS, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    return [(kernel, [line for line in lines if line.get("kernel") == kernel.name]) for kernel in KERNELS]


def figures():
    """Of each kernel its ratios, in the order of the draws."""
    rows = []
    for kernel, own in results():
        ratios = [ratio for ratio in (ratio_of(kernel, line) for line in own) if ratio is not None]
        if not own:
            rows.append((f"`{kernel.name}`", against(kernel), "not measured", "", "", ""))
            continue
        times = [line["ours_us"] for line in own if "ours_us" in line]
        right = sum(line["correct"] for line in own)
        mean = statistics.geometric_mean(ratios) if ratios else None
        wanted = wanted_of(kernel)
        verdict = "" if mean is None or mean >= wanted else f"below {wanted}"
        rows.append((f"`{kernel.name}`" + ("" if right == len(own) else f" ({len(own) - right} of {len(own)} wrong)"),
                     against(kernel), f"{min(times):.0f} to {max(times):.0f}" if times else "",
                     ", ".join(f"{ratio:.2f}" for ratio in ratios), f"{mean:.2f}" if mean else "", verdict))
    return table(("kernel", "against", "ours, us", "ratio at each size", "mean", ""), rows)


def picture():
    """A row for each kernel and a dot for each size, on a logarithmic axis from 1/8 to 8; a line is at 1."""
    left, width, step = 190, 480, 18

    def x_of(ratio):
        return left + width * (math.log2(min(max(ratio, 1 / 8), 8)) + 3) / 6

    measured = [(kernel, [ratio_of(kernel, line) for line in lines]) for kernel, lines in results()]
    measured = [(kernel, [ratio for ratio in ratios if ratio is not None]) for kernel, ratios in measured]
    rows = [row for row in measured if row[1]]
    height = step * (len(rows) + 2)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{height}" '
             'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for exponent in range(-3, 4):
        x, label = x_of(2.0**exponent), f"{2**exponent}" if exponent >= 0 else f"1/{2**-exponent}"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{step}" y2="{height - step // 2}" '
                     f'stroke="{"black" if exponent == 0 else "lightgray"}"/>')
        parts.append(f'<text x="{x:.1f}" y="{step - 5}" text-anchor="middle">{label}</text>')
    for number, (kernel, ratios) in enumerate(rows):
        y = step * (number + 1.5)
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{kernel.name}</text>')
        colour = "steelblue" if kernel.is_against_copy else "darkorange"
        parts += [f'<circle cx="{x_of(ratio):.1f}" cy="{y:.1f}" r="3.5" fill="{colour}" fill-opacity="0.7"/>'
                  for ratio in ratios]
    return "\n".join([*parts, "</svg>", ""])


PICTURE = "docs/performance/cookbook.svg"
PAGES = {"docs/cookbook.md": {"ranges": ranges}, "docs/performance/cookbook.md": {"figures": figures}}


if __name__ == "__main__":
    sys.exit(write(__doc__, {PICTURE: picture(), **{page: with_tables(page, tables) for page, tables in PAGES.items()}}))
