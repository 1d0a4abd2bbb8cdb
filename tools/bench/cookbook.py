#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the kernels of the cookbook on one GPU, each at sizes that a seed draws from its range.

The ranges are in cookbook_kernels.py. Kernels that memory bounds take turns with a copy of as many bytes, the others
with what PyTorch offers for the same work, all as CUDA graphs of several launches. Results are compared with double
precision before and after. A ratio above 1 means that ours is faster. Prints one line of JSON for each size, also where
a kernel fails, and one before them; with --output into a file, too, and kernels that the file has already are skipped:
where a failure has left the GPU's context useless, the exit status is 3, and the same command goes on with the next
kernel. Exit status 1 if a result is wrong.

    cookbook.py [--kernel rms_norm ...] [--seed 1] [--sizes 8] [--rounds 9] [--seconds 200] [--output results.jsonl]
    cookbook.py --dry-run            # the draws, without a GPU
"""

import argparse
import functools
import gc
import json
import os
import sys
import time

from cookbook_kernels import KERNELS


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", help="libtlc.so (default: beside this script or of a build)")
    parser.add_argument("--kernel", action="append", choices=[kernel.name for kernel in KERNELS], metavar="name",
                        help="instead of all; may repeat")
    parser.add_argument("--seed", type=int, default=1, help="of the sizes and of the random inputs")
    parser.add_argument("--sizes", type=int, default=8, help="of each kernel")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--launches", type=int, default=5, help="in a graph")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no further kernel begins")
    parser.add_argument("--output", metavar="results.jsonl", help="lines are appended to it")
    parser.add_argument("--dry-run", action="store_true", help="print the draws, as parameters of tlc")
    options = parser.parse_args()
    if min(options.sizes, options.rounds, options.launches) < 1:
        parser.error("expected --sizes, --rounds and --launches of at least 1")
    options.kernels = [kernel for kernel in KERNELS if not options.kernel or kernel.name in options.kernel]
    # What measure.py reads, too.
    options.graphs, options.warmups, options.peers, options.define, options.target = True, 1, "yes", [], None
    return parser, options


def measured(kernel, values, programs, options):
    """The line of one size; `programs` compiles one, or gives the one that it has."""
    import torch

    import cookbook_gemms
    import cookbook_memory
    import cookbook_sequences
    from cookbook_problem import Make, copy_of
    from measure import Case, measure, those_that_run, turn_of

    torch.manual_seed(options.seed)
    make = Make("cuda")
    module = next(each for each in (cookbook_memory, cookbook_gemms, cookbook_sequences) if hasattr(each, kernel.name))
    problem = getattr(module, kernel.name)(make, **values)
    byte_count, flops = kernel.bytes(**values), kernel.flops(**values) if kernel.flops else 0
    launch = programs(kernel.name, tuple(kernel.fixed(values).items())).bind(*problem.tensors)

    def those_captured(peers):
        """Those that can be, and why others cannot."""
        running, failing = those_that_run({name: lambda peer=peer: turn_of(peer, options) for name, peer in peers.items()})
        return {name: peers[name] for name in running}, failing

    peers, failing = those_captured({"copy": copy_of(make, byte_count)} if kernel.is_against_copy else problem.peers)
    if not peers:
        peers, others_failing = those_captured(problem.substitutes)
        failing |= others_failing

    def check():
        error = problem.largest_error(launch)
        return {"largest_error": error, "limit": 1.0, "correct": error <= 1.0}

    case = Case({"kernel": kernel.name, "values": values, "bytes": byte_count, "flops": flops}, flops, launch,
                peers, check)
    line = measure(case, options)
    return {**line, **({"failing_peers": failing} if failing else {})}


def finished_kernels(path):
    """Those that a file of results has lines of."""
    if not path or not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {json.loads(line).get("kernel") for line in file if line.strip()}


def main():
    parser, options = parse_arguments()
    if options.dry_run:
        for kernel in options.kernels:
            for values in kernel.draws(options.sizes, options.seed):
                print(kernel.name, *(f"-D {name}={value}" for name, value in values.items()))
        return 0

    import torch

    from libtlc import Library, find_library

    path = options.library or find_library()
    if path is None:
        parser.error("found no libtlc.so; name it with --library")
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")

    def report(line):
        text = json.dumps(line)
        print(text, flush=True)
        if options.output:
            with open(options.output, "a", encoding="utf-8") as file:
                print(text, file=file)

    begun = time.monotonic()
    torch.cuda.set_stream(torch.cuda.Stream())  # a graph cannot be captured on the default stream
    torch.backends.cuda.matmul.allow_tf32 = True  # of peers
    library = Library(path)
    programs = functools.cache(lambda name, constants: library.compile(name, **dict(constants)))
    finished, correct = finished_kernels(options.output), True
    report({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "seed": options.seed, "rounds": options.rounds, "launches": options.launches})
    for kernel in options.kernels:
        if kernel.name in finished:
            continue
        if time.monotonic() - begun > options.seconds:
            print(f"cookbook.py: {kernel.name} and those after it were not begun", file=sys.stderr)
            break
        for values in kernel.draws(options.sizes, options.seed):
            try:
                line = measured(kernel, values, programs, options)
            except Exception as error:  # of whatever kind: the other sizes and kernels are measured all the same
                line = {"kernel": kernel.name, "values": values, "error": f"{type(error).__name__}: {error}"[:500],
                        "correct": False}
            report(line)
            correct = correct and line["correct"]
            gc.collect()
            try:
                torch.cuda.synchronize()
                torch.cuda.empty_cache()
            except RuntimeError:
                return 3
    return 0 if correct else 1


if __name__ == "__main__":
    sys.exit(main())
