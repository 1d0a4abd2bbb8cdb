#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package takes of a new process, in milliseconds: `import tlc` without PyTorch, and with PyTorch's context there
the first attention, until its result is ready, with a warm cache.

    first_calls.py [--rounds 11] [--json] [--library libtlc.so]

Medians of processes. The cache has a cubin where ptxas is found, and PTX alone otherwise; with PTX the driver compiles, its own cache
switched off. Without a GPU of PyTorch's, attention is the emulator's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
BEGIN = f"import sys, time; sys.path[:0] = [{FOLDER!r}, {os.path.join(FOLDER, '..', 'python')!r}]\n"

IMPORT = BEGIN + """
begin = time.perf_counter()
import tlc
print((time.perf_counter() - begin) * 1000)
"""

#: Arguments: the library or nothing, whether there is PTX alone.
ATTENTION = BEGIN + """
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
q, k, v = (torch.randn(1, 128, 8, 128).to(torch.bfloat16).to(device) for _ in range(3))
(q + k).sum().item()
wait = torch.cuda.synchronize if device == "cuda" else lambda: None
begin = time.perf_counter()
import tlc
imported = time.perf_counter()
if sys.argv[1]:
    tlc.use_library(sys.argv[1])
if sys.argv[2]:
    tlc.set_cache(ptx_only=True)
with tlc.compile_events() as events:
    tlc.attention(q, k, v, causal="left")
    wait()
end = time.perf_counter()
kinds = [event.kind for event in events]
print((imported - begin) * 1000, (end - imported) * 1000, "compiled" in kinds, events[-1].code if device == "cuda" else "ptx", device)
"""


def run(code, *arguments, **variables):
    said = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env={**os.environ, **variables})
    if said.returncode:
        sys.exit(f"first_calls.py: {said.stderr.strip()}")
    return said.stdout.split()


def milliseconds(rounds, library):
    """Name -> median."""
    found = {"import tlc": statistics.median(float(run(IMPORT)[0]) for _ in range(rounds))}
    for ptx_only in ("", "yes"):
        with tempfile.TemporaryDirectory() as cache:
            variables = {"XDG_CACHE_HOME": cache, "CUDA_CACHE_DISABLE": "1"}
            code = run(ATTENTION, library, ptx_only, **variables)[3]  # fills the cache
            if (code == "ptx") != bool(ptx_only):
                continue  # no ptxas, or no GPU: both are PTX, which the second round has
            said = [run(ATTENTION, library, ptx_only, **variables) for _ in range(rounds)]
        if any(line[2] == "True" for line in said):
            sys.exit("first_calls.py: expected a program of the cache, but it is compiled again")
        where = "" if said[0][4] == "cuda" else " (emulated)"
        found["import tlc after torch"] = statistics.median(float(line[0]) for line in said)
        found[f"first attention, {code} in the cache{where}"] = statistics.median(float(line[1]) for line in said)
    return {name: round(value, 2) for name, value in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--library", default="", help="libtlc.so (default: next to this script or of a build)")
    options = parser.parse_args()
    found = milliseconds(options.rounds, options.library)
    if options.json:
        print(json.dumps({"milliseconds": found}))
        return
    for name, value in found.items():
        print(f"{value:8.2f} ms  {name}")


if __name__ == "__main__":
    main()
