#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times our kernels of several GPUs in one process with their peers, ranks 0, 1, ... being the GPUs of these numbers.

    ranks.py [copy] [gemm] [attention] [attention_bwd] [all_reduce] [experts] [random] [--ranks 2,4] [--seconds 240]
    ranks.py gemm --ranks 2 --shape 8192,8192,8192 --against group=8 --against bm=64,bn=256
    ranks.py random --random 20 --seed 1

`gemm` is a product m, n, k of all ranks: the rows of A and of B are split over them (all_gather_gemm), or the columns of
both, C being scattered or on all ranks. `experts` are rows of tokens for experts, there and back. Peers are NCCL and
then cuBLAS or cuDNN through PyTorch. The work of one rank
without transfers takes turns, too, by ours and by theirs, and NCCL's transfers without the work.

A turn is a batch of launches, back to back, that all ranks begin together: their streams wait for each other, and sleep
until the host has enqueued the batch. Its time is that of the slowest rank, between events. What our launches do to begin
together is part of it. Turns are in another order in each round; a ratio is the median of the ratios of the rounds, above
1 where ours is faster.

Each result is checked before and after it is timed. Prints one line of JSON for each case, and a last one; those that
--seconds leaves no time for are counted there. Exit status 1 if a result is wrong or a case fails; 3 where a failure has
left the GPUs' contexts useless: the same command with --skip and the number of cases that were begun, which stderr tells,
goes on. NVLink multicast is off for NCCL, too.
"""

import argparse
import gc
import json
import math
import os
import random
import signal
import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

os.environ["NCCL_NVLS_ENABLE"] = "0"  # read by NCCL when it begins

import torch  # noqa: E402

from libtlc import Error, Library, find_library  # noqa: E402
from peers import parse_definition, parse_definitions, parse_shape  # noqa: E402
from rank_attention import attention_bwd_cases, attention_cases  # noqa: E402
from rank_cases import all_reduce_cases, copy_cases, gemm_cases, random_cases  # noqa: E402
from rank_experts import experts_cases  # noqa: E402

SUITES = {"copy": copy_cases, "gemm": gemm_cases, "attention": attention_cases, "attention_bwd": attention_bwd_cases,
          "all_reduce": all_reduce_cases, "experts": experts_cases, "random": random_cases}
MOST_RANKS = 8
LEAST_ROUNDS = 3
CYCLES_PER_SECOND = 2e9  # about: how long a stream sleeps need not be exact
LONGEST_SLEEP = 0.05


class Ranks:
    """The streams that are current on the first so many GPUs."""

    def __init__(self, count):
        self.streams = [torch.cuda.current_stream(device) for device in range(count)]

    def sleep(self, seconds):
        for device in range(len(self.streams)):
            with torch.cuda.device(device):
                torch.cuda._sleep(int(min(seconds, LONGEST_SLEEP) * CYCLES_PER_SECOND))

    def record(self, **options):
        events = [torch.cuda.Event(**options) for _ in self.streams]
        for stream, event in zip(self.streams, events):
            event.record(stream)
        return events

    def meet(self):
        events = self.record()
        for stream in self.streams:
            for event in events:
                stream.wait_event(event)

    def synchronize(self):
        for stream in self.streams:
            stream.synchronize()


@dataclass
class Turn:
    launch: Callable[[], None]
    launches: int = 1
    host_seconds: float = 0.0  # that enqueueing the batch takes
    times: list = field(default_factory=list)  # seconds of a launch, by round

    def seconds(self, ranks):
        """Of a launch."""
        ranks.sleep(1.5 * self.host_seconds + 2e-4)
        ranks.meet()
        begins = ranks.record(enable_timing=True)
        started = time.perf_counter()
        for _ in range(self.launches):
            self.launch()
        self.host_seconds = time.perf_counter() - started
        ends = ranks.record(enable_timing=True)
        ranks.synchronize()
        return max(begin.elapsed_time(end) for begin, end in zip(begins, ends)) * 1e-3 / self.launches

    def prepare(self, ranks, options):
        """Runs it, and chooses how many launches a batch has."""
        self.launch()
        ranks.synchronize()
        alone = self.seconds(ranks)
        self.launches = max(1, min(options.launches, math.ceil(options.batch_seconds / alone)))
        self.seconds(ranks)


def measure(case, options, deadline):
    """The case's line of output."""
    ranks = Ranks(case.parameters["ranks"])
    before = case.check()
    line = dict(case.parameters)
    ours, turns, failing = Turn(case.ours), {"peers": {}, "others": {}}, {}
    ours.prepare(ranks, options)
    for kind, named in turns.items():
        for name, launch in getattr(case, kind).items():
            turn = Turn(launch)
            try:
                turn.prepare(ranks, options)
                named[name] = turn
            except (AttributeError, RuntimeError, TypeError) as error:  # not every peer takes every shape
                failing[name] = str(error).split("\n")[0][:200]
    shuffled, every = random.Random(options.seed), [ours, *turns["peers"].values(), *turns["others"].values()]
    for done in range(options.rounds):
        if done >= LEAST_ROUNDS and time.monotonic() > deadline:
            break
        shuffled.shuffle(every)
        for turn in every:
            turn.times.append(turn.seconds(ranks))
    after = case.check()
    line |= max(before, after, key=lambda found: found["largest_error"])
    seconds = statistics.median(ours.times)
    line |= {"rounds": len(ours.times), "launches": ours.launches, "ours_us": round(seconds * 1e6, 2)}
    if case.flops:
        line["ours_tflops"] = round(case.flops / seconds * 1e-12, 1)
    line["ours_received_gbytes_per_second"] = round(line["received_bytes"] / seconds * 1e-9, 1)
    for kind, named in turns.items():
        for name, turn in named.items():
            ratios = [other / own for own, other in zip(ours.times, turn.times)]
            line.setdefault(kind, {})[name] = {"us": round(statistics.median(turn.times) * 1e6, 2),
                                               "ratio": round(statistics.median(ratios), 4),
                                               "ratios": [round(ratio, 3) for ratio in ratios]}
    return line | ({"failing": failing} if failing else {})


def parse_ranks(text):
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 2 or max(counts) > MOST_RANKS:
        raise argparse.ArgumentTypeError(f"expected 2 to {MOST_RANKS} ranks, but got '{text}'")
    return counts


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, but got '{text}'")
    return value


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"of {', '.join(SUITES)} (default: all, in this order)")
    parser.add_argument("--library", default=find_library(), help="libtlc.so (default: beside this script or of a build)")
    parser.add_argument("--ranks", type=parse_ranks, default=[2, 4], metavar="count,...", help="(default: 2,4)")
    parser.add_argument("--shape", type=parse_shape, action="append", metavar="m,n,k", help="of gemm, instead of the suite's; may repeat")
    parser.add_argument("--length", type=positive, action="append", help="of attention's sequence, instead of the suite's; may repeat")
    parser.add_argument("--random", type=positive, default=6, metavar="count", help="shapes of random (default: 6)")
    parser.add_argument("-D", dest="define", type=parse_definition, action="append", default=[], metavar="name=value",
                        help="further parameter of our kernel; may repeat")
    parser.add_argument("--against", type=parse_definitions, action="append", default=[], metavar="name=value,...",
                        help="a program of ours with these parameters takes turns, too; may repeat")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"), help="of inputs, orders and random shapes")
    parser.add_argument("--rounds", type=positive, default=9)
    parser.add_argument("--launches", type=positive, default=20, help="most launches of a batch")
    parser.add_argument("--batch-seconds", type=float, default=4e-3, help="that a batch should take")
    parser.add_argument("--skip", type=int, default=0, metavar="count", help="cases that are left out first")
    parser.add_argument("--case-seconds", type=positive, default=60,
                        help="after which a case ends the process by SIGALRM, as one whose ranks wait for ever")
    parser.add_argument("--seconds", type=positive, default=100000, help="after which no case begins")
    options = parser.parse_args()
    for suite in options.suites:
        if suite not in SUITES:
            parser.error(f"expected suites among {', '.join(SUITES)}, but got '{suite}'")
    for shape in options.shape or []:
        if len(shape) != 3:
            parser.error(f"expected --shape m,n,k, but got {','.join(map(str, shape))}")
    if options.library is None:
        parser.error("found no libtlc.so; name it with --library")
    gpus = torch.cuda.device_count()
    if gpus < max(options.ranks):
        parser.error(f"expected --ranks of at most the GPUs of this machine, {gpus}, but got {max(options.ranks)}")
    return options


def main():
    begun = time.monotonic()
    options = parse_options()
    deadline = begun + options.seconds
    for device in range(max(options.ranks)):
        torch.cuda.set_stream(torch.cuda.Stream(device))
    torch.cuda.set_device(0)
    torch.manual_seed(options.seed)
    library = Library(options.library)
    print(json.dumps({"devices": [torch.cuda.get_device_name(device) for device in range(max(options.ranks))],
                      "torch": torch.__version__, "cuda": torch.version.cuda, "nccl": torch.cuda.nccl.version(),
                      "cudnn": torch.backends.cudnn.version(), "NCCL_NVLS_ENABLE": os.environ["NCCL_NVLS_ENABLE"],
                      "seed": options.seed}), flush=True)
    found = {"cases": 0, "wrong": 0, "failed": 0, "left_out": 0}
    for suite in options.suites or SUITES:
        for name, make in SUITES[suite](library, options):
            found["cases"] += 1
            if found["cases"] <= options.skip:
                continue
            if time.monotonic() > deadline:
                found["left_out"] += 1
                continue
            case_begun = time.monotonic()
            print(f"case {found['cases']}: {name}", file=sys.stderr, flush=True)
            signal.alarm(options.case_seconds)
            try:
                line = measure(make(), options, deadline)
                found["wrong"] += not line["correct"]
            except (Error, RuntimeError, TypeError, ValueError) as error:
                line = {"case": name, "error": str(error)[:1000]}
                found["failed"] += 1
            signal.alarm(0)
            print(json.dumps({"suite": suite, **line, "case_seconds": round(time.monotonic() - case_begun, 2)}), flush=True)
            gc.collect()
            try:
                Ranks(max(options.ranks)).synchronize()
            except RuntimeError:
                return 3
    print(json.dumps({**found, "seconds": round(time.monotonic() - begun, 1)}))
    return 1 if found["wrong"] or found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
