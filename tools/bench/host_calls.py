#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What calls of the Python package cost the host in Python and PyTorch alone, in microseconds, without a GPU.

    host_calls.py [--rounds 300] [--json]

Calls on PyTorch's tensors of the CPU go the way of calls that repeat an earlier one on a GPU, with a launch through ctypes that does
nothing instead of libtlc's. Medians over rounds, in each of which every call is made a few times in a random order. Needs PyTorch and a
C compiler.
"""

import argparse
import ctypes
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

import libtlc  # noqa: F401: finds the package
import tlc
import torch
from tlc import _arrays, _exchange, _torch


def launch_of_nothing():
    """As tlc_exchange_launch is called."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = os.path.join(folder, "nothing.c"), os.path.join(folder, "nothing.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write("int nothing(void *exchange, void *given, void *made) { return exchange == given && given == made; }\n")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
        launch = ctypes.PyDLL(library).nothing
    launch.restype, launch.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return launch


class Library:
    exchange_launch = launch_of_nothing()


class Repeat:
    """A launch like any other, whose results are like the inputs at these places, or of a shape in f32."""

    def __init__(self, *results):
        made = [(torch.empty_like, one) if isinstance(one, int) else (_like(one), 0) for one in results]
        self.call = _exchange._caller(Library, 1, made, None)


def _like(shape):
    make = _torch._maker(shape, _arrays.BY_NAME["f32"], _arrays.CPU)
    return lambda _: make()


class Allocation(torch.autograd.Function):
    """A function with gradients that has tensors as attention has and computes nothing."""

    @staticmethod
    def forward(ctx, q, k, v):
        o, lse = torch.empty_like(q), torch.empty((1, 8, 128), dtype=torch.float32)
        ctx.save_for_backward(q, k, v, o, lse)
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, _, _ = ctx.saved_tensors
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def calls():
    """Name -> call."""
    _exchange.EXCHANGES[torch.Tensor] = _exchange.Exchange(1, (torch.Tensor,), _torch._is_launch, torch.empty_like, None)
    q, k, v = (torch.randn(1, 128, 8, 128, dtype=torch.bfloat16) for _ in range(3))
    options, key = {"causal": "left"}, ("causal", "left")
    tlc.attention._repeats.keep((q.shape, k.shape, ("bshd", False), key), Repeat(0))
    tlc.attention._repeats.keep((q.shape, k.shape, ("bshd", True), key), Repeat(0, (1, 8, 128)))
    tlc.attention_backward._repeats.keep((q.shape, k.shape, ("bshd",), key), Repeat(0, 1, 2))
    qg, kg, vg = (x.clone().requires_grad_() for x in (q, k, v))
    do, grad = torch.randn_like(q), torch.autograd.grad
    ours, allocated = tlc.attention(qg, kg, vg, **options), Allocation.apply(qg, kg, vg)
    return {
        "nothing": lambda: Library.exchange_launch(1, (q,), (k,)),
        "torch.empty_like": lambda: torch.empty_like(q),
        "attention": lambda: tlc.attention(q, k, v, **options),
        "attention return_lse=True": lambda: tlc.attention(q, k, v, return_lse=True, **options),
        "attention with gradient": lambda: tlc.attention(qg, kg, vg, **options),
        "allocation with gradient": lambda: Allocation.apply(qg, kg, vg),
        "backward": lambda: grad(ours, (qg, kg, vg), do, retain_graph=True),
        "allocation backward": lambda: grad(allocated, (qg, kg, vg), do, retain_graph=True),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    draw, found = random.Random(0), calls()
    times = {name: [] for name in found}
    for _ in range(arguments.rounds):
        names = list(found)
        draw.shuffle(names)
        for name in names:
            call = found[name]
            call()
            begin = time.perf_counter_ns()
            for _ in range(4):
                call()
            times[name].append((time.perf_counter_ns() - begin) / 4000)
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    if arguments.json:
        print(json.dumps({"microseconds": medians, "torch": torch.__version__}))
        return
    for name, median in medians.items():
        print(f"{median:8.2f} us  {name}")


main()
