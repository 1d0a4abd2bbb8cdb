#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures on a GPU how much slower a kernel is that records its times for `tlc profile`.

    profiling.py [--tlc build/bin/tlc] [--rounds 31] [--launches 50] [--repeat 3] [--folder FOLDER]

Each case is one process, in which the kernel and the one that records take turns in shuffled rounds. Prints a line of JSON for each
case: the median of the ratios less 1, both times, registers, spilled bytes, records, and how many had no room. The last line has
the geometric mean and the largest. `--folder` gets the timelines and rooflines.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

CASES = {
    "gemm_4096": ["gemm", "-D", "m=4096", "-D", "n=4096", "-D", "k=4096"],
    "gemm_8192": ["gemm", "-D", "m=8192", "-D", "n=8192", "-D", "k=8192"],
    "gemm_k512": ["gemm", "-D", "m=4096", "-D", "n=4096", "-D", "k=512"],
    "attention_4096": ["attention_fwd", "-D", "b=4", "-D", "h=16", "-D", "hkv=16", "-D", "sq=4096", "-D", "sk=4096", "-D", "d=128",
                       "-D", "causal=none"],
    "attention_causal_8192": ["attention_fwd", "-D", "b=2", "-D", "h=16", "-D", "hkv=16", "-D", "sq=8192", "-D", "sk=8192", "-D",
                              "d=128", "-D", "causal=right"],
    "gemm_gelu": ["gemm_gelu"],
    "softmax": ["softmax"],
}


def profile(arguments, name, case):
    command = [arguments.tlc, "profile", *case, "--device", "cuda", "--json", "--no-counters", "--rounds", str(arguments.rounds), "--launches",
               str(arguments.launches), "--records", str(arguments.records)]
    if arguments.folder:
        folder = pathlib.Path(arguments.folder)
        folder.mkdir(parents=True, exist_ok=True)
        command += ["-o", str(folder / f"{name}.svg"), "-o", str(folder / f"{name}.json"), "--roofline",
                    str(folder / f"{name}.roofline.svg")]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return {"case": name, "error": run.stderr.strip().splitlines()[-1:]}
    result = json.loads(run.stdout)
    kept = ("device", "slowdown", "us", "profiled_us", "cycles", "clock_ghz", "modelled_cycles", "records", "lost_records", "plain",
            "profiled")
    return {"case": name, **{key: result[key] for key in kept}, "share_of_roofline": result["roofline"]["share"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tlc", default="build/bin/tlc")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--launches", type=int, default=50)
    parser.add_argument("--records", type=int, default=4096)
    parser.add_argument("--repeat", type=int, default=3, help="processes for each case")
    parser.add_argument("--cases", default=",".join(CASES), help="some of " + ", ".join(CASES))
    parser.add_argument("--folder", help="where timelines and rooflines are written")
    arguments = parser.parse_args()
    slowdowns = {}
    failed = False
    for name in arguments.cases.split(","):
        if name not in CASES:
            parser.error(f"expected --cases of {', '.join(CASES)}, but got {name}")
        for repeat in range(arguments.repeat):
            result = profile(arguments, name, CASES[name])
            print(json.dumps({**result, "repeat": repeat}), flush=True)
            failed |= "error" in result
            if "slowdown" in result:
                slowdowns.setdefault(name, []).append(result["slowdown"])
    medians = {name: statistics.median(values) for name, values in slowdowns.items()}
    if medians:
        mean = math.exp(statistics.mean(math.log(1 + value) for value in medians.values())) - 1
        print(json.dumps({"slowdown": medians, "geometric_mean": mean, "largest": max(medians.values())}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
