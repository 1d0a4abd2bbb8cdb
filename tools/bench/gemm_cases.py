# SPDX-License-Identifier: Apache-2.0
"""GEMM against cuBLAS."""

import math

import torch

from measure import Case, DTYPES, ROUNDING, compare, programs

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


def gemm_case(library, options, m, n, k):
    """C = A · B, accumulated in f32; layout tn: B is stored as n x k."""
    dtype, out = DTYPES[options.dtype], DTYPES[options.out]
    a = torch.randn(m, k, device="cuda", dtype=torch.float32).to(dtype)
    b = torch.randn(n, k, device="cuda", dtype=torch.float32).to(dtype) if options.layout == "tn" else \
        torch.randn(k, n, device="cuda", dtype=torch.float32).to(dtype)
    factor = b.t() if options.layout == "tn" else b
    c, c_peer = torch.empty(m, n, device="cuda", dtype=out), torch.empty(m, n, device="cuda", dtype=out)
    parameters = {"m": m, "n": n, "k": k, "dtype": options.dtype, "out": options.out, "layout": options.layout}
    ours, others = programs(library, "gemm", parameters, (a, b, c), options)

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

    peers = {"cublas": cublas}
    if options.target == "sm_80":
        from triton_gemm import triton_gemm  # which needs Triton

        peers["triton"] = triton_gemm(a, factor, torch.empty_like(c))
    return Case({"kernel": "gemm", **parameters, **dict(options.define)}, 2 * m * n * k, ours, peers, check, others)


def gemm_cases(library, options):
    for m, n, k in options.shape or GEMM_SHAPES:
        yield gemm_case(library, options, m, n, k)
