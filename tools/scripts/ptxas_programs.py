#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Assembles the PTX of random programs, every variant of them.

    ptxas_programs.py <tlc-differential> --seeds 0:500 [--jobs 2] [--keep <folder>]

Fails if ptxas refuses a program or warns of more than lost speed, and, where the toolkit has nvdisasm, if an access has
an odd uniform register as its descriptor (descriptors are pairs of registers, and a GPU does not execute such an
instruction), or if floats of 8 bits come from a constant but 0, which ptxas makes of the upper half of a register that
it knows to be 0. Nor may the PTX negate floats of 16 bits, whose sign ptxas loses. Without ptxas it says so and counts
as skipped.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from features import find_ptxas

SKIPPED = 77
# What ptxas says of a program that is slow, not wrong.
ADVICE = re.compile(r"Potential Performance Loss|^ptxas info")
# An nvdisasm older than ptxas.
UNKNOWN_TARGET = "Cannot decode architecture"
WRONG_CODE = re.compile(r"[^;]*(?:\bdesc\[UR\d*[13579]\]|\.UNPACK_B R\d+, [-+\d.])[^;]*")
WRONG_TEXT = re.compile(r"\b(?:(?:neg|abs)\S*\.b?f16|and\.b16\s[^;]*, (?:0x7fff|32767|-32768)\b)[^;]*")


def find_nvdisasm(ptxas):
    return shutil.which("nvdisasm") or shutil.which("nvdisasm", path=os.path.dirname(os.path.realpath(ptxas)))


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def problems_of(path, ptxas, nvdisasm):
    """What is wrong with a PTX file, one line each."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    target = re.search(r"^\.target\s+(\w+)", text, re.MULTILINE).group(1)
    cubin = path + ".cubin"
    done = run(ptxas, f"-arch={target}", path, "-o", cubin)
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode != 0:
        return lines or [f"ptxas ends with {done.returncode}"]
    problems = [line for line in lines if line.strip() and not ADVICE.search(line)] + WRONG_TEXT.findall(text)
    if nvdisasm:
        shown = run(nvdisasm, "-c", cubin)
        if shown.returncode != 0 and UNKNOWN_TARGET not in shown.stderr:
            problems.append(f"nvdisasm: {shown.stderr.strip()}")
        problems += wrong_code(shown.stdout)
    os.remove(cubin)
    return problems


def wrong_code(code):
    """Instructions of disassembled code that a GPU does not execute, or whose operand ptxas got wrong."""
    return [" ".join(wrong.split()) for wrong in WRONG_CODE.findall(code)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("differential")
    parser.add_argument("--seeds", default="0:500", metavar="first:count")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", metavar="folder", help="of the PTX; otherwise it is deleted")
    options = parser.parse_args()
    ptxas = find_ptxas()
    if not ptxas:
        print("skipped: no ptxas on this machine")
        return SKIPPED
    nvdisasm = find_nvdisasm(ptxas)
    if not nvdisasm:
        print("no nvdisasm on this machine: machine code is not checked")

    with contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(folder, exist_ok=True)
        compiled = run(options.differential, "--device", "none", "--seeds", options.seeds, "--jobs", str(options.jobs),
                       "--ptx", folder, "--reductions", "0")
        if compiled.returncode != 0:
            print(compiled.stdout + compiled.stderr)
            return 1
        paths = sorted(glob.glob(os.path.join(folder, "*.ptx")))
        kinds = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for path, problems in zip(paths, pool.map(lambda path: problems_of(path, ptxas, nvdisasm), paths)):
                for problem in problems:
                    print(f"{os.path.basename(path)}: {problem.replace(folder, '')}", flush=True)
                kinds["wrong" if problems else "right"] += 1
        print(f"{len(paths)} variants of programs {options.seeds}: ptxas takes {kinds['right']}, {kinds['wrong']} are wrong")
        return 1 if kinds["wrong"] or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
