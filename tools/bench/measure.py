# SPDX-License-Identifier: Apache-2.0
"""Timing of launches that take turns, and comparison of results."""

import math
import random
import statistics
from dataclasses import dataclass, field
from typing import Callable

import torch

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "e4m3": torch.float8_e4m3fn, "i8": torch.int8,
          "i32": torch.int32}
# Half of the distance from 1 to the next number.
ROUNDING = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "e4m3": 2.0**-4, "i32": 0.0}


@dataclass
class Case:
    """One row of a comparison. A launch may be a list of launches, too: of one program on several sets of operands,
    which take turns within a batch."""

    parameters: dict  # what identifies the case in the output
    flops: int
    ours: Callable[[], None]
    peers: dict  # name -> launch, the first one is what correctness is compared with
    check: Callable[[], dict]  # runs ours once; largest_error, limit, correct
    others: dict = field(default_factory=dict)  # name -> launch of another program of ours, no peer
    beside: dict = field(default_factory=dict)  # name of a peer -> launch of ours that does its work, where `ours` does not


def programs(library, kernel, parameters, tensors, options):
    """Our launch on these tensors, with what -D says, and others of ours: of each --against what that says beside
    it, and of --older the same program by that build."""

    def launch(further=(), build=library):
        chosen = {**parameters, **dict(options.define), **dict(further)}
        return build.compile(kernel, options.target, **chosen).bind(*tensors)

    others = {",".join(map("=".join, further)): launch(further) for further in options.against}
    if options.older:
        others["older"] = launch(build=options.older)
    return launch(), others


def those_that_run(launches):
    """The launches that do not fail, and why the others do: not every peer takes every shape."""
    running, failing = {}, {}
    for name, launch in launches.items():
        try:
            launch()
            torch.cuda.synchronize()
            running[name] = launch
        except (AttributeError, ImportError, RuntimeError, TypeError, ValueError) as error:
            failing[name] = str(error).split("\n")[0][:200]
    return running, failing


@dataclass
class Turn:
    """A batch of launches that is timed as one."""

    warm_up: Callable[[], None]
    batch: Callable[[], None]
    launches: int
    times: list = field(default_factory=list)  # seconds of a launch, by round
    holds: list = field(default_factory=list)  # what must live as long as it does

    def run(self):
        self.warm_up()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        self.batch()
        end.record()
        end.synchronize()
        self.times.append(begin.elapsed_time(end) * 1e-3 / self.launches)


def turn_of(launches, options):
    """With --graphs the batch is one CUDA graph, which is launched once before, too: the host's time counts in neither."""
    launches = launches if isinstance(launches, list) else [launches]
    count = max(options.launches, len(launches))

    def several(count):
        for i in range(count):
            launches[i % len(launches)]()

    if not options.graphs:
        return Turn(lambda: several(options.warmups), lambda: several(count), count)
    several(len(launches))  # what a first launch allocates is not captured
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()  # torch.cuda.graph also collects garbage, which takes longer than most batches
    try:
        several(count)
    finally:
        graph.capture_end()  # also where a launch cannot be captured, so that others can
    turn = Turn(graph.replay, graph.replay, count)
    turn.holds = launches  # whose workspaces the graph uses
    return turn


def measure(case, options):
    """The case's line of output."""
    before = case.check()
    shuffled = random.Random(options.seed)
    kinds = ["peers", "others"] if options.peers == "yes" else ["others"]
    ours = turn_of(case.ours, options)
    contestants = []  # kind, name, its turn, the turn of ours that it is compared with
    for kind in kinds:
        for name, launch in getattr(case, kind).items():
            own = turn_of(case.beside[name], options) if name in case.beside else ours
            contestants.append((kind, name, turn_of(launch, options), own))
    turns = list({id(turn): turn for contestant in contestants for turn in contestant[2:]}.values())
    if ours not in turns:
        turns.append(ours)
    for _ in range(options.rounds):
        # In another order each time: whoever follows a program that takes much power finds a slower clock.
        shuffled.shuffle(turns)
        for turn in turns:
            turn.run()
    after = case.check()  # launching again and again must not have changed the result
    line = {**case.parameters, **max(before, after, key=lambda found: found["largest_error"])}
    line["ours_us"] = statistics.median(ours.times) * 1e6
    line["ours_tflops"] = case.flops / statistics.median(ours.times) * 1e-12
    for kind, name, turn, own in contestants:
        ratios = [peer / mine for mine, peer in zip(own.times, turn.times)]
        line.setdefault(kind, {})[name] = {
            "us": statistics.median(turn.times) * 1e6,
            "tflops": case.flops / statistics.median(turn.times) * 1e-12,
            "ratio": statistics.median(ratios),
            "ratios": [round(ratio, 4) for ratio in ratios],
        }
        if own is not ours:
            line[kind][name]["ours_us"] = statistics.median(own.times) * 1e6
    # Against the fastest of them.
    line["ratio"] = min((other["ratio"] for other in line.get(kinds[0], {}).values()), default=None)
    return line


def compare(actual, expected, rounding, absolute):
    """Largest error in units of what is allowed: `absolute` plus the rounding
    of the expected value. Not finite counts as wrong."""
    allowed = absolute + rounding * expected.abs()
    error = (actual.to(expected.dtype) - expected).abs() / allowed
    return torch.nan_to_num(error, nan=math.inf, posinf=math.inf).max().item() if error.numel() else 0.0
