#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tuning gains: each kernel's own choice, that of 60 s of tuning and the fastest of all candidates, at drawn shapes.

    tuning.py [--kernels gemm,attention_fwd,gemm_gelu] [--count 20] [--seed 1] [--budget 60s] [--rounds 9]
              [--device cuda] [--tlc tlc] [--out tuning.jsonl]

For each shape `tlc tune` runs twice, with the budget and with all candidates, each in a folder of its own. Then the three
choices are timed once more, by `tlc bench` in a process for each, in shuffled rounds, because the fastest of many
measurements is always a lucky one. A line of JSON per shape has the medians in microseconds and the ratios of the fastest
of the three to each; the last line of a kernel has their geometric means. On the emulator, whose bench has no meaning,
times are the model's, and shapes small.

    tuning.py --planted FILE.cpp   # whether candidates that hang, trap, crash or are wrong change the times of others

tunes `planted` of test/files/tuning.cpp with all ways and, compiled with -DTLC_HARMLESS, with those alone that are right, in
turns, and prints the ratios of the times of the latter.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

from shapes import random_forward, uniform_gemms


def gemms(count, seed):
    return [{"m": shape.m, "n": shape.n, "k": shape.k} for shape in uniform_gemms(count, seed)]


def attention(count, seed):
    return [{"b": shape.b, "sq": shape.sq, "sk": shape.sk, "h": shape.h, "hkv": shape.hkv, "d": shape.d,
             "causal": "right" if shape.causal else "none"} for shape in random_forward(count, seed)]


def small_gemms(count, seed):
    draw = random.Random(seed)
    return [{"m": draw.randint(1, 300), "n": 8 * draw.randint(1, 40), "k": 8 * draw.randint(1, 40)} for _ in range(count)]


def small_attention(count, seed):
    draw = random.Random(seed)
    return [{"b": 1, "sq": draw.randint(1, 200), "sk": draw.randint(200, 300), "h": 2, "hkv": 1,
             "d": draw.choice((64, 128)), "causal": draw.choice(("none", "right"))} for _ in range(count)]


#: Kernel -> its shapes on a GPU, and on the emulator.
SHAPES = {"gemm": (gemms, small_gemms), "attention_fwd": (attention, small_attention), "gemm_gelu": (gemms, small_gemms)}


def run(options, *arguments):
    """The lines of JSON that a command of `tlc` prints."""
    said = subprocess.run([options.tlc, *arguments], capture_output=True, text=True)
    if said.returncode:
        sys.exit(f"tuning.py: tlc {' '.join(arguments)}: {said.stderr.strip()}")
    return [json.loads(line) for line in said.stdout.splitlines()]


def defined(values):
    return [word for name, value in values.items() for word in ("-D", f"{name}={value}")]


def tune(options, kernel, values, folder, budget, *more):
    return run(options, "tune", kernel, *defined(values), "--tuning", folder, "--budget", budget, "--json", "--device",
               options.device, "--seed", str(options.seed), *more)[0]


def confirm(options, kernel, shape, choices):
    """Microseconds of each choice, by name: equal choices are timed once."""
    different = {json.dumps(values, sort_keys=True): values for values in choices.values()}
    times, order, shuffled = {key: [] for key in different}, list(different), random.Random(options.seed)
    for _ in range(options.rounds):
        shuffled.shuffle(order)
        for key in order:
            line = run(options, "bench", kernel, *defined({**shape, **different[key]}), "--rounds", "3", "--json")[1]
            if not line["correct"]:
                sys.exit(f"tuning.py: wrong result of {kernel} {shape} {different[key]}")
            times[key].append(line["ours_us"])
    return {name: statistics.median(times[json.dumps(values, sort_keys=True)]) for name, values in choices.items()}


def modelled(found, choices):
    """The same by what tuning has measured."""
    times = {json.dumps(each["values"], sort_keys=True): statistics.median(each["us"]) for each in found["candidates"]
             if each.get("us")}
    return {name: times[json.dumps(values, sort_keys=True)] for name, values in choices.items()}


def compare(options, kernel, shape):
    with tempfile.TemporaryDirectory() as folder:
        within = tune(options, kernel, shape, os.path.join(folder, "within"), options.budget)
        every = tune(options, kernel, shape, os.path.join(folder, "all"), "all")
    for found in (within, every):
        if "best" not in found:
            sys.exit(f"tuning.py: no candidate of {kernel} {shape} ran")
    choices = {"own": {}, "tuned": within["best"], "best": every["best"]}
    times = confirm(options, kernel, shape, choices) if options.device == "cuda" else modelled(every, choices)
    fastest = min(times.values())
    return {"kernel": kernel, "shape": shape, "tuned": choices["tuned"], "best": choices["best"],
            "us": times, "ratio": {name: fastest / time for name, time in times.items()},
            "candidates": len(every["candidates"]), "skipped": sum("skipped" in each for each in every["candidates"]),
            "seconds": {"tuned": within["seconds"], "best": every["seconds"]}, "complete_within_budget": within["complete"]}


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def compare_planted(options):
    kernel, times = f"{options.planted}:planted", {}
    for round_ in range(options.rounds):
        kinds = ["planted", "harmless"]
        random.Random(options.seed + round_).shuffle(kinds)
        for kind in kinds:
            with tempfile.TemporaryDirectory() as folder:
                more = ["--cxx-flag=-DTLC_HARMLESS"] if kind == "harmless" else []
                found = tune(options, kernel, {}, folder, "all", "--limit", "10", *more)
            for each in found["candidates"]:
                if each.get("us"):
                    times.setdefault(str(each["values"]), {}).setdefault(kind, []).extend(each["us"])
    lines = [{"values": values, **{kind: statistics.median(own) for kind, own in kinds.items()}}
             for values, kinds in times.items() if len(kinds) == 2]
    return [{**line, "ratio": line["planted"] / line["harmless"]} for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default=",".join(SHAPES))
    parser.add_argument("--count", type=int, default=20, help="shapes of each kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--device", choices=("cuda", "emulator"), default="cuda")
    parser.add_argument("--tlc", default="tlc")
    parser.add_argument("--planted", default="", help="test/files/tuning.cpp")
    parser.add_argument("--out", default="", help="file to append lines to (default: standard output alone)")
    options = parser.parse_args()

    def emit(line):
        print(json.dumps(line), flush=True)
        if options.out:
            with open(options.out, "a") as file:
                print(json.dumps(line), file=file)

    if options.planted:
        for line in compare_planted(options):
            emit(line)
        return
    for kernel in options.kernels.split(","):
        lines = []
        for shape in SHAPES[kernel][options.device != "cuda"](options.count, options.seed):
            lines.append(compare(options, kernel, shape))
            emit(lines[-1])
        emit({"kernel": kernel, "shapes": len(lines), "device": options.device,
              "geometric_mean": {name: mean([line["ratio"][name] for line in lines]) for name in ("own", "tuned", "best")}})


if __name__ == "__main__":
    main()
