# SPDX-License-Identifier: Apache-2.0
"""Timing of launches that take turns, and comparison of results."""

import math
import random
import statistics
from dataclasses import dataclass, field
from typing import Callable

import torch

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
# Half of the distance from 1 to the next number.
ROUNDING = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24}


@dataclass
class Case:
    """One row of a comparison."""

    parameters: dict  # what identifies the case in the output
    flops: int
    ours: Callable[[], None]
    peers: dict  # name -> launch, the first one is what correctness is compared with
    check: Callable[[], dict]  # runs ours once; largest_error, limit, correct
    others: dict = field(default_factory=dict)  # name -> launch of another program of ours, no peer


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


def seconds_per_launch(launch, options):
    """Mean time of a batch of back-to-back launches."""
    for _ in range(options.warmups):
        launch()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(options.launches):
        launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / options.launches


def measure(case, options):
    """The case's line of output."""
    before = case.check()
    ours = []
    shuffled = random.Random(options.seed)
    kinds = ["peers", "others"] if options.peers == "yes" else ["others"]
    taking_turns = [(kind, name, launch, []) for kind in kinds for name, launch in getattr(case, kind).items()]
    turns = [(case.ours, ours)] + [(launch, times) for _, _, launch, times in taking_turns]
    for _ in range(options.rounds):
        # In another order each time: whoever follows a program that takes much power finds a slower clock.
        shuffled.shuffle(turns)
        for launch, times in turns:
            times.append(seconds_per_launch(launch, options))
    after = case.check()  # launching again and again must not have changed the result
    line = {**case.parameters, **max(before, after, key=lambda found: found["largest_error"])}
    line["ours_us"] = statistics.median(ours) * 1e6
    line["ours_tflops"] = case.flops / statistics.median(ours) * 1e-12
    for kind, name, _, times in taking_turns:
        ratios = [peer / own for own, peer in zip(ours, times)]
        line.setdefault(kind, {})[name] = {
            "us": statistics.median(times) * 1e6,
            "tflops": case.flops / statistics.median(times) * 1e-12,
            "ratio": statistics.median(ratios),
            "ratios": [round(ratio, 4) for ratio in ratios],
        }
    # Against the fastest of them.
    line["ratio"] = min(other["ratio"] for other in line[kinds[0]].values())
    return line


def compare(actual, expected, rounding, absolute):
    """Largest error in units of what is allowed: `absolute` plus the rounding
    of the expected value. Not finite counts as wrong."""
    allowed = absolute + rounding * expected.abs()
    error = (actual.to(expected.dtype) - expected).abs() / allowed
    return torch.nan_to_num(error, nan=math.inf, posinf=math.inf).max().item() if error.numel() else 0.0
