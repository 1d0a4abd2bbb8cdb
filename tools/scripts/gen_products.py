#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of registered kernels whose products do not all use tcgen05, in docs/performance/blackwell.md, with the
compiler's reasons.

    gen_products.py --tlc <tlc> [--check]

With --check nothing is written; the exit status is 1 if the table is not current. It is 1, too, where the machine code of a
kernel does not fit what the compiler said: products by mma.sync, or products by tcgen05 whose factors threads load, without a
remark.
"""

import json
import re
import subprocess
import sys

from generated import table, with_tables, write

PAGE = "docs/performance/blackwell.md"
TARGETS = ["sm_100a", "sm_103a"]
REMARK = re.compile(r"product uses (mma\.sync|multiply-add of single elements), not tcgen05: ([^;\n]*)")
LOADS = re.compile(r"threads make this copy, not the TMA: ([^;\n]*)")
COUNT = re.compile(r" \(\d+ times\)$")


def compiled(tlc, kernel, target):
    """PTX and remarks, or the error."""
    command = [tlc, "compile", kernel, "--target", target, "--no-cache", "--remarks", "-o", "-"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return (run.stdout, run.stderr) if run.returncode == 0 else (None, run.stderr)


def products_of(tlc, kernel, target, problems):
    """Pairs of instruction and reason for the products that do not use tcgen05."""
    ptx, said = compiled(tlc, kernel, target)
    if ptx is None:
        return {("none", said.split("error: ", 1)[-1].split("\n")[0])}
    reasons = {(found[1], COUNT.sub("", found[2])) for found in REMARK.finditer(said)}
    if "mma.sync" in ptx and not any(instruction == "mma.sync" for instruction, _ in reasons):
        problems.append(f"{kernel} has mma.sync for {target}, of which no remark speaks")
    if "tcgen05.mma" in ptx and "cp.async.bulk.tensor" not in ptx:
        loads = {("tcgen05, threads load", COUNT.sub("", found[1])) for found in LOADS.finditer(said)}
        if not loads:
            problems.append(f"{kernel} has tcgen05.mma for {target}, and no remark says why threads load")
        reasons |= loads
    return reasons


def rows(tlc, problems):
    kernels = json.loads(subprocess.run([tlc, "list", "--json"], capture_output=True, text=True, check=True).stdout)
    found = {}
    for kernel in (each["name"] for each in kernels["kernels"]):
        for target in TARGETS:
            for reason in products_of(tlc, kernel, target, problems):
                found.setdefault((kernel, *reason), []).append(target)
    return [[f"`{kernel}`", ", ".join(targets), instruction, reason]
            for (kernel, instruction, reason), targets in sorted(found.items())]


def main():
    if "--tlc" not in sys.argv[1:-1]:
        sys.exit(__doc__)
    at = sys.argv.index("--tlc")
    tlc = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    problems = []
    text = with_tables(PAGE, {"products": lambda: table(["kernel", "targets", "instruction", "reason"], rows(tlc, problems))})
    print(*problems, sep="\n", end="\n" if problems else "")
    return write(__doc__, {PAGE: text}) or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
