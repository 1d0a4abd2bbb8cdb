#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table and the picture of what calls from Python cost, from docs/performance/calls.jsonl.

    gen_call_costs.py [--check]

That file has lines of `tools/bench/calls.py --json --commit HASH`, the newest last. The table has the newest and the one before it.
"""

import json
import math
import os
import sys
from typing import NamedTuple

from generated import ROOT, table, with_tables, write

RESULTS = os.path.join(ROOT, "docs", "performance", "calls.jsonl")
PAGE, PICTURE = "docs/performance/runtime.md", "docs/performance/calls.svg"


class Row(NamedTuple):
    text: str
    name: str
    peers: tuple = ()
    wanted: float = 0  # us, beside what the peers take


OTHERS = ("Triton, a kernel that does nothing", "cuDNN's frontend, built", "FlashInfer")
CALLS = (
    Row("`attention`", "attention", ("SDPA", *OTHERS), 12),
    Row("`attention` with `out=`", "attention out="),
    Row("`attention` with LSE", "attention return_lse=True"),
    Row("`attention` with gradient, forward", "attention with gradient", ("SDPA with gradient",), 20),
    Row("`attention` with gradient, backward", "backward", ("SDPA backward",), 25),
    Row("`attention` under `torch.compile`", "attention compiled", ("SDPA compiled",)),
    Row("bound `attention`", "bound", (), 3.5),
    Row("`gemm`", "gemm", ("torch.mm",)),
    Row("`gemm` with gradient, forward", "gemm with gradient", ("torch.mm with gradient",)),
    Row("`gemm` with gradient, backward", "gemm backward", ("torch.mm backward",)),
    Row("`softmax`", "softmax", ("torch.softmax",)),
    Row("`softmax` with gradient, forward", "softmax with gradient", ("torch.softmax with gradient",)),
    Row("`softmax` with gradient, backward", "softmax backward", ("torch.softmax backward",)),
    Row("`ops.rms_norm`", "ops.rms_norm"),
)
#: Calls that launch no kernel: the least that calls of their kinds take.
LEAST = (
    Row("a ctypes call that does nothing", "nothing"),
    Row("`torch.empty_like`", "torch.empty_like"),
    Row("`torch.empty`", "torch.empty"),
    Row("a function with gradient that allocates, forward", "allocation with gradient"),
    Row("a function with gradient that allocates, backward", "allocation backward"),
)


def results():
    with open(RESULTS, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def text_of(number):
    return "" if number is None else f"{number:.1f}" if number < 100 else f"{number:.0f}"


def peers_of(row, microseconds):
    return [(name, microseconds[name]) for name in row.peers if name in microseconds]


def costs():
    lines = results()
    newest, before = lines[-1], lines[-2] if len(lines) > 1 else {"commit": "", "microseconds": {}}
    rows = []
    for row in CALLS + LEAST:
        took = newest["microseconds"]
        if row.name in took:
            others = ", ".join(f"{name} {text_of(value)}" for name, value in peers_of(row, took))
            rows.append((row.text, text_of(took[row.name]), text_of(before["microseconds"].get(row.name)), others,
                         f"{row.wanted:g}" if row.wanted else ""))
    rows += [(f"`{name}`" if name == "import tlc" else name, f"{value:g} ms", "", "", "50 ms" if name == "import tlc" else
              "30 ms" if "cubin" in name else "") for name, value in newest.get("milliseconds", {}).items()]
    return table(("call", f"us, {newest['commit']}", f"us, {before['commit']}", "others, us", "wanted, us"), rows)


def picture():
    """A row for each call: ours now and before, others, and what is wanted, on a logarithmic axis; then calls that launch no kernel."""
    left, top, width, step, lowest, highest = 320, 46, 460, 20, 0.5, 512
    lines = results()
    took, before = lines[-1]["microseconds"], lines[-2]["microseconds"] if len(lines) > 1 else {}
    rows = [row for row in CALLS + LEAST if row.name in took]
    bottom = top + step * len(rows)

    def x_of(value):
        return left + width * math.log(min(max(value, lowest), highest) / lowest) / math.log(highest / lowest)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{bottom + 30}" font-family="sans-serif" '
             'font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="14">microseconds of the host until a call returns, {lines[-1]["device"]}</text>']
    keys = (("steelblue", "steelblue", "this project"), ("white", "steelblue", "before"), ("darkorange", "darkorange", "others"), ("gray", "gray", "no kernel"))
    for number, (fill, stroke, what) in enumerate(keys):
        x = left + 8 + 92 * number
        parts.append(f'<circle cx="{x}" cy="28" r="4.5" fill="{fill}" stroke="{stroke}"/><text x="{x + 10}" y="32">{what}</text>')
    x = left + 8 + 92 * len(keys)
    parts.append(f'<line x1="{x}" x2="{x}" y1="21" y2="35" stroke="seagreen" stroke-width="2.5"/><text x="{x + 10}" y="32">wanted</text>')
    for value in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        parts.append(f'<line x1="{x_of(value):.1f}" x2="{x_of(value):.1f}" y1="{top}" y2="{bottom}" stroke="lightgray"/>')
        parts.append(f'<text x="{x_of(value):.1f}" y="{bottom + 16}" text-anchor="middle">{value}</text>')
    for number, row in enumerate(rows):
        y = top + step * (number + 0.5)
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{row.text.replace("`", "")}</text>')
        if row.wanted:
            x = x_of(row.wanted)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 7:.1f}" y2="{y + 7:.1f}" stroke="seagreen" stroke-width="2.5"/>')
        dots = [("darkorange", "darkorange", value, name) for name, value in peers_of(row, took)]
        if row in LEAST:
            dots.append(("gray", "gray", took[row.name], row.name))
        else:
            dots += [("white", "steelblue", before[row.name], "before")] if row.name in before else []
            dots.append(("steelblue", "steelblue", took[row.name], "this project"))
        parts += [f'<circle cx="{x_of(value):.1f}" cy="{y:.1f}" r="4.5" fill="{fill}" stroke="{stroke}"><title>{name}: {value:g} us</title></circle>'
                  for fill, stroke, value, name in dots]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    sys.exit(write(__doc__, {PICTURE: picture(), PAGE: with_tables(PAGE, {"call-costs": costs})}))
