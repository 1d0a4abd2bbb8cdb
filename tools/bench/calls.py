#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What calls of the Python package cost the host, in microseconds until the call returns.

    calls.py [--rounds 200] [--json] [--library libtlc.so] [--commit HASH]

Medians over rounds, in each of which every call is made a few times in a random order, while the GPU is never full. `nothing` is a
call through ctypes that does nothing, `allocation` an autograd.Function that does nothing but allocate: the least that calls can
take. Triton, cuDNN's frontend and FlashInfer are timed where they are installed (call_peers.py). Then what new processes take
(first_calls.py). With --json it is a line for docs/performance/calls.jsonl. Needs PyTorch and a GPU.
"""

import argparse
import ctypes
import json
import random
import statistics
import time

import libtlc  # noqa: F401: finds the package
import tlc
import torch
from call_peers import peers
from first_calls import milliseconds


class Allocation(torch.autograd.Function):
    """What a function with gradients takes that has tensors as attention has and computes nothing."""

    @staticmethod
    def forward(ctx, q, k, v):
        o, lse = torch.empty_like(q), torch.empty((1, 8, 128), dtype=torch.float32, device=q.device)
        ctx.save_for_backward(q, k, v, o, lse)
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, _, _ = ctx.saved_tensors
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def calls():
    """Name -> call."""
    q, k, v = (torch.randn(1, 128, 8, 128, dtype=torch.bfloat16, device="cuda") for _ in range(3))
    qg, kg, vg = (x.clone().requires_grad_() for x in (q, k, v))
    do, out = torch.randn_like(q), torch.empty_like(q)
    bound = tlc.attention.bind(q, k, v, out=out)
    nothing = ctypes.CDLL(None).getpid
    sdpa = torch.nn.functional.scaled_dot_product_attention
    of_sdpa = [x.transpose(1, 2) for x in (q, k, v)]
    with_gradient = [x.transpose(1, 2) for x in (qg, kg, vg)]
    do_sdpa = do.transpose(1, 2)
    a = torch.randn(128, 1024, dtype=torch.bfloat16, device="cuda")
    ag, da = a.clone().requires_grad_(), torch.ones(128, 128, dtype=torch.bfloat16, device="cuda")
    x, weight = torch.randn(128, 1024, dtype=torch.bfloat16, device="cuda"), torch.ones(1024, device="cuda")
    xg = x.clone().requires_grad_()
    found = {
        "nothing": nothing,
        "torch.empty_like": lambda: torch.empty_like(q),
        "torch.empty": lambda: torch.empty((1, 8, 128), dtype=torch.float32, device=q.device),
        "attention": lambda: tlc.attention(q, k, v, causal="left"),
        "attention out=": lambda: tlc.attention(q, k, v, causal="left", out=out),
        "attention return_lse=True": lambda: tlc.attention(q, k, v, causal="left", return_lse=True),
        "SDPA": lambda: sdpa(*of_sdpa, is_causal=True),
        "bound": bound,
        "attention with gradient": lambda: tlc.attention(qg, kg, vg, causal="left"),
        "SDPA with gradient": lambda: sdpa(*with_gradient, is_causal=True),
        "softmax": lambda: tlc.softmax(x),
        "torch.softmax": lambda: torch.softmax(x, -1),
        "gemm": lambda: tlc.gemm(a, a.t()),
        "torch.mm": lambda: torch.mm(a, a.t()),
        "ops.rms_norm": lambda: tlc.ops.rms_norm(x, weight),
        "allocation with gradient": lambda: Allocation.apply(qg, kg, vg),
        "gemm with gradient": lambda: tlc.gemm(ag, a.t()),
        "torch.mm with gradient": lambda: torch.mm(ag, a.t()),
        "softmax with gradient": lambda: tlc.softmax(xg),
        "torch.softmax with gradient": lambda: torch.softmax(xg, -1),
        **peers(q, k, v),
    }
    for name, call, given, gradient in (("gemm", found["gemm with gradient"], ag, da), ("torch.mm", found["torch.mm with gradient"], ag, da),
                                        ("softmax", found["softmax with gradient"], xg, x),
                                        ("torch.softmax", found["torch.softmax with gradient"], xg, x)):
        found[f"{name} backward"] = lambda result=call(), given=given, gradient=gradient: torch.autograd.grad(result, given, gradient, retain_graph=True)
    ours, theirs = tlc.attention(qg, kg, vg, causal="left"), sdpa(*with_gradient, is_causal=True)
    allocated = Allocation.apply(qg, kg, vg)
    found["allocation backward"] = lambda: torch.autograd.grad(allocated, (qg, kg, vg), do, retain_graph=True)
    found["backward"] = lambda: torch.autograd.grad(ours, (qg, kg, vg), do, retain_graph=True)
    found["SDPA backward"] = lambda: torch.autograd.grad(theirs, (qg, kg, vg), do_sdpa, retain_graph=True)
    if hasattr(torch, "compile"):
        compiled, of_torch = torch.compile(lambda *x: tlc.attention(*x, causal="left"), fullgraph=True), torch.compile(
            lambda *x: sdpa(*x, is_causal=True), fullgraph=True)
        found["attention compiled"] = lambda: compiled(q, k, v)
        found["SDPA compiled"] = lambda: of_torch(*of_sdpa)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--library", default="", help="libtlc.so (default: next to this script or of a build)")
    parser.add_argument("--commit", default="", help="of the sources, for --json")
    parser.add_argument("--processes", type=int, default=11, help="new processes of each kind")
    options = parser.parse_args()
    if options.library:
        tlc.use_library(options.library)
    draw, found = random.Random(0), calls()
    for call in found.values():
        for _ in range(5):
            call()
    times = {name: [] for name in found}
    for _ in range(options.rounds):
        names = list(found)
        draw.shuffle(names)
        for name in names:
            call = found[name]
            torch.cuda.synchronize()
            call()
            begin = time.perf_counter_ns()
            for _ in range(4):
                call()
            times[name].append((time.perf_counter_ns() - begin) / 4000)
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    first = milliseconds(options.processes, options.library)
    if options.json:
        print(json.dumps({"commit": options.commit, "device": torch.cuda.get_device_name(), "torch": torch.__version__, "microseconds": medians,
                          "milliseconds": first}))
        return
    for name, median in medians.items():
        print(f"{median:8.2f} us  {name}")
    for name, median in first.items():
        print(f"{median:8.2f} ms  {name}")


main()
