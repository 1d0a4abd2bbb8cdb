#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times our kernels against what PyTorch offers for the same work, on one GPU.

Clocks, power and rest between launches move single figures by 5 to 35 percent,
so only ratios within one run count: ours and the peers take turns in one
process, each turn some warm-up launches and then a batch of back-to-back
launches between one pair of events, without rests. Each round gives a ratio
of times; the result is the median ratio over all rounds.

Every case is checked before and after it is timed: sampled rows against a
product in double precision, the whole against the peer. Prints one line of JSON
per case and a last one with the geometric mean; a ratio above 1 means that
ours is faster. Exit status 1 if a result is wrong.

    peers.py [gemm] [--dtype bf16] [--layout tn] [--out bf16] [--shape m,n,k ...]
    peers.py attention_fwd [--dtype bf16] [--d 128] [--causal yes] [--shape b,s,h,hkv ...]
    peers.py block_causal [--d 128] [--shape b,s,h,hkv ...]
    peers.py varlen [--d 128] [--causal yes] [--shape b,longest,h,hkv ...]
    peers.py attention_decode [--dtype bf16] [--d 128] [--shape b,s,hkv,group ...] [-D kv=paged]

A peer of decoding is a copy that moves as many bytes as K and V have: that ratio is the share of the copy's bandwidth.
"""

import argparse
import inspect
import json
import math
import os
import statistics
import sys
from dataclasses import dataclass
from typing import Callable

import torch

from libtlc import Error, Library

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
    ours, peers = [], {name: [] for name in case.peers}
    for _ in range(options.rounds):
        ours.append(seconds_per_launch(case.ours, options))
        for name, launch in case.peers.items():
            peers[name].append(seconds_per_launch(launch, options))
    after = case.check()  # launching again and again must not have changed the result
    line = {**case.parameters, **max(before, after, key=lambda found: found["largest_error"])}
    line["ours_us"] = statistics.median(ours) * 1e6
    line["ours_tflops"] = case.flops / statistics.median(ours) * 1e-12
    line["peers"] = {}
    for name, times in peers.items():
        ratios = [peer / own for own, peer in zip(ours, times)]
        line["peers"][name] = {
            "us": statistics.median(times) * 1e6,
            "tflops": case.flops / statistics.median(times) * 1e-12,
            "ratio": statistics.median(ratios),
            "ratios": [round(ratio, 4) for ratio in ratios],
        }
    # Against the fastest peer.
    line["ratio"] = min(peer["ratio"] for peer in line["peers"].values())
    return line


GEMM_SHAPES = [
    (8192, 8192, 8192),
    (4096, 4096, 4096),
    (2048, 2048, 2048),
    (16384, 4096, 4096),
    (4096, 16384, 4096),
    (512, 8192, 8192),
    (128, 4096, 16384),
    (64, 8192, 8192),
]


def compare(actual, expected, rounding, absolute):
    """Largest error in units of what is allowed: `absolute` plus the rounding
    of the expected value. Not finite counts as wrong."""
    allowed = absolute + rounding * expected.abs()
    error = (actual.to(expected.dtype) - expected).abs() / allowed
    return torch.nan_to_num(error, nan=math.inf, posinf=math.inf).max().item() if error.numel() else 0.0


def gemm_case(library, options, m, n, k):
    """C = A · B, accumulated in f32; layout tn: B is stored as n x k."""
    dtype, out = DTYPES[options.dtype], DTYPES[options.out]
    a = torch.randn(m, k, device="cuda", dtype=torch.float32).to(dtype)
    b = torch.randn(n, k, device="cuda", dtype=torch.float32).to(dtype) if options.layout == "tn" else \
        torch.randn(k, n, device="cuda", dtype=torch.float32).to(dtype)
    factor = b.t() if options.layout == "tn" else b
    c, c_peer = torch.empty(m, n, device="cuda", dtype=out), torch.empty(m, n, device="cuda", dtype=out)
    program = library.compile("gemm", m=m, n=n, k=k, dtype=options.dtype, out=options.out, layout=options.layout)
    ours = program.bind(a, b, c)

    if out == dtype:
        def cublas():
            torch.mm(a, factor, out=c_peer)
    else:
        def cublas():
            torch.mm(a, factor, out_dtype=out, out=c_peer)

    def check():
        c.fill_(math.nan)
        ours()
        cublas()
        # Each of k additions rounds a running sum of about sqrt(k) to f32, and tensor cores always downwards.
        absolute = k * math.sqrt(k) * 2.0**-24
        rounding = ROUNDING[options.out]
        rows = torch.cat([torch.tensor([0, m - 1]), torch.randint(0, m, (126,))]).cuda()
        sampled = compare(c[rows], a[rows].double() @ factor.double(), rounding, absolute)
        # Ours and the peer may round to neighbouring numbers.
        everywhere = compare(c, c_peer.float(), 2 * rounding, 2 * absolute)
        error = max(sampled, everywhere)
        return {"largest_error": error, "limit": 1.0, "correct": error <= 1.0}

    return Case({"kernel": "gemm", "m": m, "n": n, "k": k, "dtype": options.dtype, "out": options.out,
                 "layout": options.layout}, 2 * m * n * k, ours, {"cublas": cublas}, check)


def gemm_cases(library, options):
    for m, n, k in options.shape or GEMM_SHAPES:
        yield gemm_case(library, options, m, n, k)


ATTENTION_SHAPES = [  # b, s, h, hkv
    (16, 1024, 16, 16),
    (8, 2048, 16, 16),
    (4, 4096, 16, 16),
    (2, 8192, 16, 16),
    (1, 16384, 16, 16),
    (4, 4096, 32, 8),
]


def attention_case(library, options, b, s, h, hkv, causal):
    """Forward, q and k of the same length, tensors b x s x h x d."""
    dtype, d = DTYPES[options.dtype], options.d
    q, k, v = (torch.randn(b, s, heads, d, device="cuda", dtype=torch.float32).to(dtype) for heads in (h, hkv, hkv))
    o, lse = torch.empty_like(q), torch.empty(b, h, s, device="cuda", dtype=torch.float32)
    program = library.compile("attention_fwd", b=b, sq=s, sk=s, h=h, hkv=hkv, d=d, dtype=options.dtype,
                              causal="right" if causal else "none", **dict(options.define or []))
    ours = program.bind(q, k, v, o, lse)
    heads_first = [tensor.transpose(1, 2) for tensor in (q, k, v)]
    backend = torch.nn.attention.SDPBackend.CUDNN_ATTENTION

    def cudnn():
        with torch.nn.attention.sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(*heads_first, is_causal=causal, enable_gqa=h != hkv)

    def check():
        o.fill_(math.nan)
        lse.fill_(math.nan)
        ours()
        peer = cudnn().transpose(1, 2)
        # Weights are rounded before they meet v, in which both differ from the exact result and from each other.
        rounding = ROUNDING[options.dtype]
        everywhere = compare(o, peer.float(), 4 * rounding, 4 * rounding)
        rows = torch.cat([torch.tensor([0, s - 1]), torch.randint(0, s, (62,))]).cuda()
        sampled = 0.0
        for batch, head in {(0, 0), (b - 1, h - 1)}:
            scores = q[batch, rows, head].double() @ k[batch, :, head * hkv // h].double().t() / math.sqrt(d)
            if causal:
                scores.masked_fill_(torch.arange(s, device="cuda")[None, :] > rows[:, None], -math.inf)
            expected = scores.softmax(-1) @ v[batch, :, head * hkv // h].double()
            sampled = max(sampled, compare(o[batch, rows, head], expected, 2 * rounding, 2 * rounding),
                          compare(lse[batch, head, rows], scores.logsumexp(-1), 1e-5, 1e-5))
        error = max(sampled, everywhere)
        return {"largest_error": error, "limit": 1.0, "correct": error <= 1.0}

    return Case({"kernel": "attention_fwd", "b": b, "s": s, "h": h, "hkv": hkv, "d": d, "causal": causal,
                 "dtype": options.dtype, **dict(options.define or [])},
                4 * b * h * s * s * d // (2 if causal else 1), ours, {"cudnn": cudnn}, check)


def attention_cases(library, options):
    for causal in (False, True) if options.causal is None else (options.causal == "yes",):
        for shape in options.shape or ATTENTION_SHAPES:
            yield attention_case(library, options, *shape, causal)


DECODE_SHAPES = [  # b, s, hkv, group
    (64, 8192, 8, 8),
    (16, 8192, 8, 8),
    (64, 1024, 8, 8),
    (1, 131072, 8, 8),
]


def expected_rows(q, k, v, visible, scale):
    """O and LSE of some queries of one head in double precision; `visible` is queries x keys."""
    scores = q.double() @ k.double().t() * scale
    scores.masked_fill_(~visible, -math.inf)
    return scores.softmax(-1) @ v.double(), scores.logsumexp(-1)


BLOCK_CAUSAL_SHAPES = [(1, 8192, 16, 16), (2, 8192, 32, 8), (1, 16384, 16, 16)]


def block_causal_case(library, options, b, s, h, hkv, block=32):
    """Noisy and clean halves of a sequence, against FlexAttention, compiled, with its block mask."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    dtype, d, half = DTYPES[options.dtype], options.d, s // 2
    q, k, v = (torch.randn(b, s, heads, d, device="cuda", dtype=torch.float32).to(dtype) for heads in (h, hkv, hkv))
    o, lse = torch.empty_like(q), torch.empty(b, h, s, device="cuda", dtype=torch.float32)
    program = library.compile("attention_fwd", b=b, sq=s, sk=s, h=h, hkv=hkv, d=d, dtype=options.dtype,
                              mask="block_causal", block=block, **dict(options.define or []))
    ours = program.bind(q, k, v, o, lse)

    def sees(batch, head, query, key):
        same = (query < half) & (key < half) & (query // block == key // block)
        before = (query < half) & (key >= half) & ((key - half) // block < query // block)
        clean = (query >= half) & (key >= half) & ((key - half) // block <= (query - half) // block)
        return same | before | clean

    mask = create_block_mask(sees, None, None, s, s, device="cuda", _compile=True)
    compiled = torch.compile(flex_attention)
    heads_first = [tensor.transpose(1, 2).contiguous() for tensor in (q, k, v)]

    def flex():
        return compiled(*heads_first, block_mask=mask, enable_gqa=h != hkv)

    def check():
        o.fill_(math.nan)
        lse.fill_(math.nan)
        ours()
        rounding = ROUNDING[options.dtype]
        worst = compare(o, flex().transpose(1, 2).float(), 4 * rounding, 4 * rounding)
        rows = torch.cat([torch.tensor([0, half - 1, half, s - 1]), torch.randint(0, s, (60,))]).cuda()
        visible = sees(0, 0, rows[:, None], torch.arange(s, device="cuda")[None, :])
        for batch, head in {(0, 0), (b - 1, h - 1)}:
            kv = head * hkv // h
            expected, sums = expected_rows(q[batch, rows, head], k[batch, :, kv], v[batch, :, kv], visible, d**-0.5)
            worst = max(worst, compare(o[batch, rows, head], expected, 2 * rounding, 2 * rounding),
                        compare(lse[batch, head, rows], sums, 1e-5, 1e-5))
        return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}

    return Case({"kernel": "attention_fwd", "mask": "block_causal", "block": block, "b": b, "s": s, "h": h, "hkv": hkv,
                 "d": d, "dtype": options.dtype}, 4 * b * h * d * (half * half + half * block), ours,
                {"flex": flex}, check)


def block_causal_cases(library, options):
    for shape in options.shape or BLOCK_CAUSAL_SHAPES:
        yield block_causal_case(library, options, *shape)


VARLEN_SHAPES = [(8, 8192, 16, 16), (8, 8192, 32, 8)]


def varlen_case(library, options, b, longest, h, hkv, causal):
    """Packed sequences of random lengths from 256 to `longest`, against PyTorch's varlen_attn."""
    from torch.nn.attention.varlen import varlen_attn

    dtype, d = DTYPES[options.dtype], options.d
    lengths = torch.randint(256, longest + 1, (b,)).tolist()
    begins = torch.tensor([0] + lengths).cumsum(0).to(device="cuda", dtype=torch.int32)
    total = sum(lengths)
    q, k, v = (torch.randn(total, heads, d, device="cuda", dtype=torch.float32).to(dtype) for heads in (h, hkv, hkv))
    o, lse = torch.empty_like(q), torch.empty(h, total, device="cuda", dtype=torch.float32)
    program = library.compile("attention_fwd", varlen=",".join(map(str, lengths)), h=h, hkv=hkv, d=d,
                              dtype=options.dtype, causal="right" if causal else "none", **dict(options.define or []))
    ours = program.bind(q, k, v, begins, begins, o, lse)
    # It has as many heads of keys as of queries.
    repeated = [tensor.repeat_interleave(h // hkv, 1) for tensor in (k, v)]

    # Newer versions of PyTorch say it by the window.
    has_flag = "is_causal" in inspect.signature(varlen_attn).parameters
    mask = {"is_causal": causal} if has_flag else {"window_size": (-1, 0 if causal else -1)}

    def flash():
        return varlen_attn(q, *repeated, begins, begins, max(lengths), max(lengths), **mask)

    def check():
        o.fill_(math.nan)
        lse.fill_(math.nan)
        ours()
        rounding = ROUNDING[options.dtype]
        worst = compare(o, flash().float(), 4 * rounding, 4 * rounding)
        for sequence, head in {(0, 0), (b - 1, h - 1)}:
            own = slice(int(begins[sequence]), int(begins[sequence + 1]))
            rows = torch.cat([torch.tensor([0, lengths[sequence] - 1]), torch.randint(0, lengths[sequence], (62,))]).cuda()
            visible = torch.ones(len(rows), lengths[sequence], device="cuda", dtype=torch.bool)
            if causal:
                visible = torch.arange(lengths[sequence], device="cuda")[None, :] <= rows[:, None]
            kv = head * hkv // h
            expected, sums = expected_rows(q[own][rows, head], k[own][:, kv], v[own][:, kv], visible, d**-0.5)
            worst = max(worst, compare(o[own][rows, head], expected, 2 * rounding, 2 * rounding),
                        compare(lse[head, own][rows], sums, 1e-5, 1e-5))
        finite = bool(o.isfinite().all() and lse.isfinite().all())
        return {"largest_error": worst, "limit": 1.0, "correct": finite and worst <= 1.0}

    pairs = sum(n * n for n in lengths)
    return Case({"kernel": "attention_fwd", "varlen": lengths, "h": h, "hkv": hkv, "d": d, "causal": causal,
                 "dtype": options.dtype}, 4 * h * pairs * d // (2 if causal else 1), ours, {"varlen_attn": flash}, check)


def varlen_cases(library, options):
    for causal in (False, True) if options.causal is None else (options.causal == "yes",):
        for shape in options.shape or VARLEN_SHAPES:
            yield varlen_case(library, options, *shape, causal)


def decode_case(library, options, b, s, hkv, group):
    """One query for each of b sequences of s keys, in a cache b x s x hkv x d or in pages in random order."""
    dtype, d, define = DTYPES[options.dtype], options.d, dict(options.define or [])
    q = torch.randn(b, 1, hkv, group, d, device="cuda", dtype=torch.float32).to(dtype)
    k, v = (torch.randn(b, s, hkv, d, device="cuda", dtype=dtype) for _ in range(2))
    lengths = torch.full((b,), s, device="cuda", dtype=torch.int32)
    o, lse = torch.empty_like(q), torch.empty(b, hkv, group, 1, device="cuda", dtype=torch.float32)
    program = library.compile("attention_decode", b=b, sk=s, hkv=hkv, group=group, d=d, dtype=options.dtype, **define)
    if define.get("kv") == "paged":
        page = int(define.get("page", 64))
        assert s % page == 0
        order = torch.randperm(b * s // page, device="cuda")
        paged_k, paged_v = (torch.empty(b * s // page, page, hkv, d, device="cuda", dtype=dtype) for _ in range(2))
        paged_k[order], paged_v[order] = k.view_as(paged_k), v.view_as(paged_v)
        ours = program.bind(q, paged_k, paged_v, lengths, order.to(torch.int32).view(b, -1), o, lse)
    else:
        ours = program.bind(q, k, v, lengths, o, lse)
    source = torch.empty(k.numel(), device="cuda", dtype=dtype)
    target = torch.empty_like(source)
    heads_first = q.view(b, 1, hkv * group, d).transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def attention(backend):
        def launch():
            with torch.nn.attention.sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(*heads_first, enable_gqa=group != 1)
        return launch

    peers = {"copy": lambda: target.copy_(source)}
    for name in ("cudnn", "flash"):
        launch = attention(getattr(torch.nn.attention.SDPBackend, f"{name.upper()}_ATTENTION"))
        try:
            launch()
            peers[name] = launch
        except RuntimeError:
            pass  # it does not take these shapes

    def check():
        o.fill_(math.nan)
        lse.fill_(math.nan)
        ours()
        rounding, worst = ROUNDING[options.dtype], 0.0
        for batch, head in {(0, 0), (b // 2, hkv // 2), (b - 1, hkv - 1)}:
            scores = q[batch, 0, head].double() @ k[batch, :, head].double().t() / math.sqrt(d)
            expected = scores.softmax(-1) @ v[batch, :, head].double()
            # Weights are rounded before they meet v.
            worst = max(worst, compare(o[batch, 0, head], expected, 2 * rounding, 2 * rounding),
                        compare(lse[batch, head, :, 0], scores.logsumexp(-1), 1e-5, 1e-5))
        finite = bool(o.isfinite().all() and lse.isfinite().all())
        return {"largest_error": worst, "limit": 1.0, "correct": finite and worst <= 1.0}

    return Case({"kernel": "attention_decode", "b": b, "s": s, "hkv": hkv, "group": group, "d": d,
                 "dtype": options.dtype, "bytes": 2 * k.numel() * k.element_size(), **define},
                4 * b * hkv * group * s * d, ours, peers, check)


def decode_cases(library, options):
    for shape in options.shape or DECODE_SHAPES:
        yield decode_case(library, options, *shape)


SUITES = {"gemm": gemm_cases, "attention_fwd": attention_cases, "block_causal": block_causal_cases,
          "varlen": varlen_cases, "attention_decode": decode_cases}
# What a shape of a suite consists of.
EXTENTS = {"gemm": "m,n,k", "attention_fwd": "b,s,h,hkv", "block_causal": "b,s,h,hkv", "varlen": "b,longest,h,hkv",
           "attention_decode": "b,s,hkv,group"}


def find_library():
    """libtlc.so of the archive that this script came in, or of a build."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ("../lib", "../../build/portable/lib", "../../build/lib"):
        path = os.path.join(here, folder, "libtlc.so")
        if os.path.exists(path):
            return path
    return None


def parse_shape(text):
    extents = tuple(int(part) for part in text.split(","))
    if min(extents) < 1:
        raise argparse.ArgumentTypeError(f"expected extents of at least 1, but got '{text}'")
    return extents


def parse_definition(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected name=value, but got '{text}'")
    return name, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="?", choices=SUITES, default="gemm")
    parser.add_argument("--library", default=find_library(), help="libtlc.so (default: beside this script or of a build)")
    parser.add_argument("--shape", type=parse_shape, action="append", help="instead of the suite's: m,n,k, or b,s,h,hkv of attention, or b,s,hkv,group of decoding; may repeat")
    parser.add_argument("--dtype", choices=["f16", "bf16"], default="bf16")
    parser.add_argument("--layout", choices=["tn", "nn"], default="tn")
    parser.add_argument("--out", choices=list(DTYPES), default="bf16")
    parser.add_argument("--d", type=int, default=128, help="length of attention's rows")
    parser.add_argument("--causal", choices=["yes", "no"], help="of attention; left out: both")
    parser.add_argument("-D", dest="define", type=parse_definition, action="append", metavar="name=value",
                        help="further parameter of our attention kernel; may repeat")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"), help="of the random inputs")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warmups", type=int, default=5, help="launches before each batch")
    parser.add_argument("--launches", type=int, default=20, help="launches in a batch")
    options = parser.parse_args()
    for shape in options.shape or []:
        if len(shape) != EXTENTS[options.suite].count(",") + 1:
            parser.error(f"expected --shape {EXTENTS[options.suite]}, but got {','.join(map(str, shape))}")
    if options.library is None:
        parser.error("found no libtlc.so; name it with --library")
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")

    torch.manual_seed(options.seed)
    library = Library(options.library)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
                      "seed": options.seed, "rounds": options.rounds, "launches": options.launches}), flush=True)
    lines = []
    for case in SUITES[options.suite](library, options):
        lines.append(measure(case, options))
        print(json.dumps(lines[-1]), flush=True)
    ratios = [line["ratio"] for line in lines]
    correct = all(line["correct"] for line in lines)
    print(json.dumps({"suite": options.suite, "cases": len(lines), "correct": correct,
                      "geometric_mean": statistics.geometric_mean(ratios), "lowest": min(ratios)}))
    return 0 if correct else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as error:
        sys.exit(f"peers.py: {error}")
