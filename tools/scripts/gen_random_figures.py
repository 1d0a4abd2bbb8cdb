#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table and the pictures of shapes that nobody tuned for, from docs/performance/random.jsonl.

    gen_random_figures.py [--check]

That file has the lines of tools/bench/peers.py, without the ratios of single rounds, after a line for each command:

    {"family": "GEMM of models", "group": "gemm", "command": "gemm --models 40 --seed 7001 ...", "device": "H200", "commit": "..."}

With "against" ratios are those of one peer, otherwise of the fastest one. With "of" a family has the lines of another one.
A group's families share a picture: ratios of a peer's time to ours, over the work. docs/performance/speed.svg has the
mean, the lowest and the highest ratio of each family.
"""

import json
import math
import os
import statistics
import sys

from generated import ROOT, table, with_tables, write

RESULTS = os.path.join(ROOT, "docs", "performance", "random.jsonl")
PAGE = "docs/performance/README.md"
LEAST_US = 2  # shapes that take less on both sides are listed, not averaged
COLOURS = ("steelblue", "darkorange", "seagreen", "crimson", "purple", "gray")


def families():
    """The lines that head families, each with the list of its results: pairs of a line and its ratio."""
    heads, lines_of = [], {}
    with open(RESULTS, encoding="utf-8") as file:
        for line in map(json.loads, filter(str.strip, file)):
            if "family" in line:
                heads.append(line)
                lines_of[line["family"]] = []
            elif "ours_us" in line and line.get("ratio"):
                lines_of[heads[-1]["family"]].append(line)

    def ratio_of(head, line):
        return line["peers"][head["against"]]["ratio"] if "against" in head else line["ratio"]

    return [(head, [(line, ratio_of(head, line)) for line in lines_of[head.get("of", head["family"])]]) for head in heads]


def slowest_side(line, ratio):
    """The longer one of our time and the peer's, in us."""
    return line["ours_us"] * max(ratio, 1)


def work(line):
    """Operations, or bytes where a kernel has none to speak of."""
    return line["ours_tflops"] * line["ours_us"] * 1e6


def figures():
    rows = []
    for head, lines in families():
        ratios = [ratio for line, ratio in lines if slowest_side(line, ratio) >= LEAST_US]
        few = len(lines) - len(ratios)
        rows.append((head["family"], f"`{head['command']}`", head["device"], head["commit"], str(len(ratios)) + (f" (and {few} below {LEAST_US} us)" if few else ""),
                     f"{statistics.geometric_mean(ratios):.3f}", f"{min(ratios):.3f}",
                     f"{sum(ratio < 0.95 for ratio in ratios)}, {sum(ratio < 0.9 for ratio in ratios)}"))
    return table(("family", "`tools/bench/peers.py`", "device", "commit", "shapes", "mean", "lowest", "below 0.95, 0.90"), rows)


def picture(group):
    """A dot for each shape: right of it more work, above it ours is faster; both axes are logarithmic."""
    left, top, width, height, legend = 46, 12, 520, 260, 210
    lowest, highest = 0.4, 8
    shown = [(head, lines) for head, lines in families() if head["group"] == group]
    works = [math.log10(work(line)) for _, lines in shown for line, _ in lines]
    first, last = math.floor(min(works)), math.ceil(max(works))

    def x_of(line):
        return left + width * (math.log10(work(line)) - first) / max(last - first, 1)

    def y_of(ratio):
        ratio = min(max(ratio, lowest), highest)
        return top + height * (1 - math.log(ratio / lowest) / math.log(highest / lowest))

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + legend}" height="{top + height + 40}" '
             'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for ratio in (0.5, 1, 2, 4, 8):
        y = y_of(ratio)
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="{"black" if ratio == 1 else "lightgray"}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{ratio}</text>')
    for exponent in range(first, last + 1):
        x = left + width * (exponent - first) / max(last - first, 1)
        parts.append(f'<text x="{x:.1f}" y="{top + height + 16}" text-anchor="middle">1e{exponent}</text>')
    unit = "bytes" if group == "softmax" else "operations"
    parts.append(f'<text x="{left + width / 2:.1f}" y="{top + height + 32}" text-anchor="middle">{unit}</text>')
    for number, (head, lines) in enumerate(shown):
        colour = COLOURS[number % len(COLOURS)]
        y = top + 14 + 16 * number
        parts.append(f'<circle cx="{left + width + 14}" cy="{y - 4}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{left + width + 24}" y="{y}">{head["family"]}</text>')
        parts += [f'<circle cx="{x_of(line):.1f}" cy="{y_of(ratio):.1f}" r="3.2" fill="{colour}" fill-opacity="0.7"/>'
                  for line, ratio in lines]
    return "\n".join([*parts, "</svg>", ""])


def summary():
    """A line from the lowest to the highest ratio of each family, and a dot for the mean; the axis is logarithmic."""
    left, top, width, row, lowest, highest = 250, 30, 420, 22, 0.5, 8
    shown = [(head, [ratio for line, ratio in lines if slowest_side(line, ratio) >= LEAST_US]) for head, lines in families()]
    bottom = top + row * len(shown)

    def x_of(ratio):
        return left + width * math.log(min(max(ratio, lowest), highest) / lowest) / math.log(highest / lowest)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{bottom + 36}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="14">time of the fastest peer over ours: right of 1 ours is faster</text>']
    for ratio in (0.5, 1, 2, 4, 8):
        x = x_of(ratio)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{bottom}" stroke="{"black" if ratio == 1 else "lightgray"}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{ratio}</text>')
    for number, (head, ratios) in enumerate(shown):
        y, mean = top + row * number + 8, statistics.geometric_mean(ratios)
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{head["family"]}</text>')
        parts.append(f'<line x1="{x_of(min(ratios)):.1f}" x2="{x_of(max(ratios)):.1f}" y1="{y}" y2="{y}" stroke="steelblue" '
                     'stroke-width="5" stroke-opacity="0.4"/>')
        parts.append(f'<circle cx="{x_of(mean):.1f}" cy="{y}" r="5" fill="steelblue"/>')
        parts.append(f'<text x="{left + width + 8}" y="{y + 4}">{mean:.2f}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    groups = list(dict.fromkeys(head["group"] for head, _ in families()))
    made = {f"docs/performance/random-{group}.svg": picture(group) for group in groups}
    made["docs/performance/speed.svg"] = summary()
    sys.exit(write(__doc__, {**made, PAGE: with_tables(PAGE, {"random": figures})}))
