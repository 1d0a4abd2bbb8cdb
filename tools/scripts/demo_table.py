#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo_table.py <tlc>: runs a few verified kernels and prints a table. Exit
status 1 if one fails or is wrong."""

import json
import subprocess
import sys

RUNS = [
    ("gemm", {"m": 256, "n": 256, "k": 256, "dtype": "bf16"}),
    ("gemm", {"m": 200, "n": 136, "k": 100, "dtype": "f16", "out": "f32", "layout": "nn"}),
    ("softmax", {"rows": 64, "columns": 1000}),
    ("attention_fwd", {"b": 1, "sq": 200, "sk": 300, "h": 4, "hkv": 2, "d": 64, "causal": "right"}),
    ("attention_fwd", {"varlen": "70,0,130", "h": 2, "hkv": 2, "d": 128, "mask": "block_causal", "block": 16}),
    ("attention_decode", {"b": 2, "sk": 500, "h": 16, "hkv": 2, "kv": "paged"}),
    ("attention_fwd_fp8", {"b": 1, "sq": 150, "sk": 150, "h": 2, "hkv": 1}),
]
HEADER = ("kernel", "parameters", "device", "largest error", "allowed", "verdict", "time")


def row_of(tlc, kernel, parameters):
    """One row of the table, and whether the result was right."""
    defines = [word for name, value in parameters.items() for word in ("-D", f"{name}={value}")]
    command = [tlc, "run", kernel, *defines, "--device", "auto", "--verify", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    shape = " ".join(f"{name}={value}" for name, value in parameters.items())
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        return (kernel, shape, "-", "-", "-", f"failed ({done.returncode})", "-"), False
    right = done.returncode == 0 and result["correct"]
    return (kernel, shape, result["device"], f"{result['largest_error']:.2e}", f"{result['limit']:.2e}",
            "ok" if right else "WRONG", f"{result['milliseconds']:.3g} ms"), right


def main():
    rows = [row_of(sys.argv[1], kernel, parameters) for kernel, parameters in RUNS]
    cells = [HEADER] + [row for row, _ in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADER))]
    for number, row in enumerate(cells):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
    return 0 if all(right for _, right in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
