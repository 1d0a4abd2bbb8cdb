#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times many configurations of the GEMM for each of many shapes, beside the one that the heuristic chooses and cuBLAS.

    gemm_sweep.py --random 24 --models 16 --seed 1 --seconds 200 > sweep.jsonl
    gemm_sweep.py --shape 4736,2584,4648 --most 200
    tlc-gemm-fit --candidates 16 1000,4608,3584 64,3584,3584 > candidates.jsonl
    gemm_sweep.py --candidates candidates.jsonl

A configuration's program takes any shape, so that each is compiled once, on all cores, before anything is timed. Those
of a shape take turns in shuffled rounds, as in peers.py, each batch one CUDA graph whose operands rotate through more
than L2 holds. Of a shape only some configurations are timed: of each split and cluster those with the least work for the
busiest multiprocessor. Shapes are drawn as those of peers.py are, models' and others in turns; only those whose rows the
TMA can copy, and with enough work to time.

With --candidates the shapes and their configurations are those of a file's lines, which `tlc-gemm-fit --candidates` prints: the ones for
which the model of the GEMM's time is shortest.

Prints lines of JSON: one for each shape and configuration with its median time, one for each shape with the choice's
regret (its time over that of the fastest configuration, less 1, median of the rounds), and one with the mean regret.
After --seconds it stops with the shapes that it has. Exit status 1 if a result is wrong.
"""

import argparse
import itertools
import json
import math
import os
import random
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields

import torch

from gemm_cases import cublas, gemm_error, operand_sets
from libtlc import Error, Library, find_library
from measure import DTYPES, turn_of
from shapes import GemmShape, model_gemms, random_gemms

STEP = 64  # along k
TMA_ELEMENTS = 8  # of 16 bits, in 16 bytes
LEAST_FLOPS = 2**28
BATCH_SECONDS = 1.5e-3
USUAL_FLOPS = 6e14  # a second
# Columns of tiles by their rows. A program takes the driver most of a second, so that not all are timed that there are.
WIDTHS = {64: (16, 32, 64, 96, 128, 192, 256), 128: (16, 64, 96, 128, 160, 176, 192, 224, 256), 192: (128, 160, 176, 192), 256: (128,)}
CLUSTER_TILES = ((64, 64), (64, 128), (64, 256), (128, 128), (128, 192), (128, 256), (192, 128), (192, 160), (192, 192))
SPLIT_TILES = ((64, 64), (64, 128), (64, 256), (128, 64), (128, 128), (128, 256))
SPLITS = (2, 3, 4, 6, 8, 12, 16)
# Parts that the blocks of a cluster sum.
CLUSTER_SUM_TILES = ((64, 32), (64, 64), (64, 96), (64, 128), (64, 192), (64, 256), (128, 64), (128, 128), (128, 256))
CLUSTER_SPLITS = (2, 4, 8)
# Long steps have fewer barriers for the same bytes in flight.
LONG_STEP, LONG_STEP_TILES, LONG_STEP_SPLITS = 128, ((64, 32), (64, 64), (64, 96), (64, 128), (128, 64), (128, 128)), (1, 2, 3, 4)
FEW_ROWS = 64
MOST_PARTIAL_BYTES = 1 << 28
GROUPS = (8,)
LARGEST = (128, 256)


@dataclass(frozen=True)
class Configuration:
    bm: int
    bn: int
    split: int = 1
    sum: str = "launch"
    cluster: int = 1
    share: str = "auto"
    group: int = 16
    bk: int = STEP
    swap: str = "no"
    residents: int = 1

    def suits(self, shape):
        """No tile of which half lies outside, none narrower than 64 beside another where there are many rows, no part
        without steps, no cluster without neighbours to share with."""
        rows, columns = math.ceil(shape.m / self.bm), math.ceil(shape.n / self.bn)
        return ((self.bm == 64 or self.swap == "yes" or 2 * shape.m > self.bm) and (self.bn == 16 or 2 * shape.n > self.bn)
                and (self.bn >= 64 or self.bn >= shape.n or self.bn >= 32 and shape.m <= FEW_ROWS)
                and (self.split == 1 or 4 * self.split <= math.ceil(shape.k / STEP))
                and (self.split == 1 or self.sum == "cluster" or 4 * self.split * shape.m * shape.n <= MOST_PARTIAL_BYTES)
                and self.cluster <= (rows if self.share == "b" else columns) and (self.group == 16 or rows > self.group))

    def work(self, shape, multiprocessors):
        """Multiply-adds of the multiprocessor with the most."""
        tiles = math.ceil(shape.m / self.bm) * math.ceil(shape.n / self.bn) * self.split
        cluster = self.split if self.sum == "cluster" else self.cluster
        waves = math.ceil(math.ceil(tiles / cluster) / (multiprocessors // cluster))
        return waves * math.ceil(math.ceil(shape.k / STEP) / self.split) * self.bm * self.bn


def configurations():
    """The largest tile's first, as not all of them may be compiled in time."""
    tiles = sorted(((bm, bn) for bm, widths in WIDTHS.items() for bn in widths), key=lambda tile: -tile[0] * tile[1])
    return ([Configuration(bm, bn) for bm, bn in tiles]
            + [Configuration(bm, bn, cluster=2, share=share) for bm, bn in CLUSTER_TILES for share in ("a", "b")]
            + [Configuration(bm, bn, split=split) for split in SPLITS for bm, bn in SPLIT_TILES]
            + [Configuration(bm, bn, split=split, sum="cluster") for split in CLUSTER_SPLITS for bm, bn in CLUSTER_SUM_TILES]
            + [Configuration(bm, bn, split=split, sum="cluster", bk=LONG_STEP)
               for split in CLUSTER_SPLITS for bm, bn in LONG_STEP_TILES]
            + [Configuration(bm, bn, split=split, bk=LONG_STEP) for split in LONG_STEP_SPLITS for bm, bn in LONG_STEP_TILES]
            + [Configuration(*LARGEST, group=group) for group in GROUPS])


def chosen_from(compiled, shape, most, multiprocessors):
    """At most about so many of those that suit the shape."""
    classes = {}
    for configuration in compiled:
        if configuration.suits(shape):
            classes.setdefault((configuration.split, configuration.sum, configuration.cluster, configuration.share, configuration.bk), []).append(configuration)
    each = math.ceil(most / (len(classes) + 1))
    chosen = [configuration for kind, found in classes.items()
              for configuration in sorted(found, key=lambda c: c.work(shape, multiprocessors))[:each * (1 + (kind == (1, "launch", 1, "auto", STEP)))]]
    largest = Configuration(*LARGEST)
    return chosen + [largest] * (largest in compiled and largest.suits(shape) and largest not in chosen)


def compile_all(library, wanted, options, deadline):
    """The programs by configuration, those that are not compiled before the deadline left out."""

    def compile_one(configuration):
        torch.cuda.set_device(0)  # of this thread
        if time.monotonic() > deadline:
            return None
        try:
            step = {"bk": configuration.bk * 2 // DTYPES[options.dtype].itemsize}
            return library.compile("gemm", dtype=options.dtype, out=options.out, layout=options.layout, unaligned="none",
                                   **asdict(configuration) | step)
        except Error as error:
            return str(error)

    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        programs = dict(zip(wanted, pool.map(compile_one, wanted)))
    for configuration, failed in programs.items():
        if isinstance(failed, str):
            print(json.dumps({"configuration": asdict(configuration), "error": failed[:400]}), flush=True)
    return {configuration: program for configuration, program in programs.items() if not isinstance(program, (str, type(None)))}


def launches_of(shape, most):
    """So many that a batch takes about BATCH_SECONDS at a usual rate, two at least."""
    return min(most, 2 + int(BATCH_SECONDS * USUAL_FLOPS / (2 * shape.m * shape.n * shape.k)))


def sweep(library, compiled, shape, options):
    """Prints a shape's lines; its regret, if it has configurations, and whether all results are right."""
    m, n, k = shape.m, shape.n, shape.k
    options = argparse.Namespace(**vars(options) | {"launches": launches_of(shape, options.launches)})
    sets = operand_sets(options, m, n, k)
    a, b, c, _ = sets[0]
    chosen = library.compile("gemm", m=m, n=n, k=k, dtype=options.dtype, out=options.out, layout=options.layout)
    programs = {"chosen": chosen}
    chosen_ones = ([c for c in options.candidates[shape] if c in compiled] if options.candidates
                   else chosen_from(compiled, shape, options.most, options.multiprocessors))
    if not chosen_ones:
        print(json.dumps({"m": m, "n": n, "k": k, "error": "none of its configurations was compiled"}), flush=True)
        return None, True
    for configuration in chosen_ones:
        programs[configuration] = compiled[configuration]
    turns, errors = {"cublas": turn_of([cublas(options, a, b, c) for a, b, _, c in sets], options)}, {}
    for name, program in programs.items():
        launches = [program.bind(*tensors[:3]) for tensors in sets]
        c.fill_(math.nan)
        launches[0]()
        errors[name] = gemm_error(options, a, b, c)
        turns[name] = turn_of(launches, options)
    shuffled = random.Random(options.seed)
    order = list(turns.values())
    for _ in range(options.rounds):
        shuffled.shuffle(order)
        for turn in order:
            turn.run()

    def median_ratio(name, other):
        return statistics.median(mine / theirs for mine, theirs in zip(turns[name].times, turns[other].times))

    us = {name: statistics.median(turn.times) * 1e6 for name, turn in turns.items()}
    identity = {"m": m, "n": n, "k": k, **({"name": shape.name} if shape.name else {}),
                **({"dtype": options.dtype} if options.dtype != "bf16" else {}), **({"layout": options.layout} if options.layout != "tn" else {})}
    timed = [name for name in us if isinstance(name, Configuration)]
    for name in timed:
        print(json.dumps({**identity, **asdict(name), "us": round(us[name], 3), "correct": errors[name] <= 1}))
    best = min(timed, key=us.get)
    correct = all(error <= 1 for error in errors.values())
    regret = median_ratio("chosen", best) - 1
    print(json.dumps({**identity, "chosen_us": round(us["chosen"], 3), "best_us": round(us[best], 3), "best": asdict(best),
                      "cublas_us": round(us["cublas"], 3), "regret": round(regret, 4),
                      "chosen_of_cublas": round(median_ratio("cublas", "chosen"), 4),
                      "best_of_cublas": round(median_ratio("cublas", best), 4), "correct": correct}), flush=True)
    return regret, correct


def shapes_of(options):
    """Those that are named, or drawn ones and models' in turns."""
    if options.candidates:
        return list(options.candidates)
    if options.shape:
        return options.shape

    def is_wanted(shape):
        return shape.n % TMA_ELEMENTS == 0 and shape.k % TMA_ELEMENTS == 0 and 2 * shape.m * shape.n * shape.k >= LEAST_FLOPS

    drawn = list(filter(is_wanted, random_gemms(20 * options.random, options.seed)))[:options.random]
    models = list(filter(is_wanted, model_gemms()))
    models = random.Random(options.seed).sample(models, min(options.models, len(models)))
    return [shape for pair in itertools.zip_longest(drawn, models) for shape in pair if shape]


def parse_shape(text):
    try:
        return GemmShape(*map(int, text.split(",")))
    except (TypeError, ValueError):
        raise argparse.ArgumentTypeError(f"expected m,n,k, but got '{text}'") from None


def read_candidates(path):
    """Configurations by shape; other fields of a line, which say what the model thinks, are left out."""
    candidates = {}
    names = [field.name for field in fields(Configuration)]
    try:
        with open(path, encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                shape = GemmShape(line["m"], line["n"], line["k"])
                candidates.setdefault(shape, []).append(Configuration(**{name: line[name] for name in names if name in line}))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"expected the lines of tlc-gemm-fit --candidates, but '{path}' has others: {error}") from None
    return candidates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=find_library(), help="libtlc.so (default: beside this script or of a build)")
    parser.add_argument("--shape", type=parse_shape, action="append", metavar="m,n,k", help="instead of drawn ones; may repeat")
    parser.add_argument("--random", type=int, default=24, metavar="count", help="shapes drawn by --seed")
    parser.add_argument("--models", type=int, default=16, metavar="count", help="shapes of models, drawn by --seed")
    parser.add_argument("--most", type=int, default=36, help="configurations of a shape, about")
    parser.add_argument("--candidates", type=read_candidates, metavar="file", help="shapes and their configurations, instead")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which no further shape begins")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs that are compiled at a time")
    parser.add_argument("--dtype", choices=["f16", "bf16", "e4m3"], default="bf16")
    parser.add_argument("--layout", choices=["tn", "nn", "nt", "tt"], default="tn")
    parser.add_argument("--out", choices=list(DTYPES), default="bf16")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launches", type=int, default=10, help="launches in a batch, at most: fewer of long kernels")
    options = parser.parse_args()
    if options.library is None:
        parser.error("found no libtlc.so; name it with --library")
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")
    options.graphs = True
    begin = time.monotonic()
    end = begin + options.seconds
    torch.cuda.set_stream(torch.cuda.Stream())
    torch.manual_seed(options.seed)
    device = torch.cuda.get_device_properties(0)
    options.multiprocessors = device.multi_processor_count
    print(json.dumps({"device": device.name, "torch": torch.__version__, "cuda": torch.version.cuda, "seed": options.seed,
                      "rounds": options.rounds, "launches": options.launches}), flush=True)
    library = Library(options.library)
    shapes = shapes_of(options)
    wanted = (list(dict.fromkeys(c for shape in shapes for c in options.candidates[shape])) if options.candidates
              else [c for c in configurations() if any(c.suits(shape) for shape in shapes)])
    compiled = compile_all(library, wanted, options, begin + options.seconds / 3)
    print(json.dumps({"configurations": len(wanted), "compiled": len(compiled),
                      "seconds": round(time.monotonic() - begin, 1)}), flush=True)
    regrets, correct = [], True
    for shape in shapes:
        if time.monotonic() > end:
            break
        regret, is_right = sweep(library, compiled, shape, options)
        regrets += [regret] * (regret is not None)
        correct = correct and is_right
    summary = {"shapes": len(regrets), "of": len(shapes), "correct": correct}
    if regrets:
        summary |= {"mean_regret": round(statistics.fmean(regrets), 4), "highest": round(max(regrets), 4),
                    "above_0.05": sum(regret > 0.05 for regret in regrets)}
    print(json.dumps(summary | {"seconds": round(time.monotonic() - begin, 1)}))
    return 0 if correct else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as error:
        sys.exit(f"gemm_sweep.py: {error}")
