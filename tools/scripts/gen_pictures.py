#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pictures of layouts and of timelines in docs/generated with `tlc layout` and `tlc trace`.

    gen_pictures.py --tlc <tlc> [--check]

With --check nothing is written; the exit status is 1 if a picture is not current.
"""

import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
GEMM = "gemm -D m=256 -D n=256 -D k=256 -D bm=128 -D bn=256 -D bk=64 -D stages=4"
PICTURES = {
    "docs/generated/swizzled_tile.svg": f"layout {GEMM} a --rows 0:8 --svg",
    "docs/generated/wgmma_accumulator.svg": f"layout {GEMM} acc --rows 0:32 --columns 0:8 --svg",
    "docs/generated/attention_timeline.svg": "trace attention_fwd -D b=1 -D h=32 -D hkv=32 -D sq=384 -D sk=512 -D d=128 -D causal=none -o",
    "docs/generated/blackwell_attention_timeline.svg": "trace attention_fwd --target sm_100a -D b=1 -D h=1 -D hkv=1 -D sq=256 -D sk=256 -D d=128 -D bq=256 -D bk=64 -o",
    "docs/generated/blackwell_gemm_timeline.svg": "trace gemm --target sm_100a -D m=512 -D n=512 -D k=512 -D bm=128 -D bn=256 -D stages=4 -o",
}


def draw(tlc, arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.svg")
        subprocess.run([tlc, *arguments.split(), path], check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tlc", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = []
    for name, arguments in PICTURES.items():
        text, path = draw(options.tlc, arguments), os.path.join(ROOT, name)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if text == old:
            continue
        stale.append(name)
        if not options.check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if options.check and stale:
        print(*(f"{name} is not what tlc draws: build the target 'pictures'" for name in stale), sep="\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
