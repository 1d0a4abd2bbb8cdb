# SPDX-License-Identifier: Apache-2.0
"""GEMM against cuBLAS."""

import math

import torch

from measure import Case, DTYPES, ROUNDING, compare, programs
from shapes import GemmShape, drawn, model_gemms, random_gemms, uniform_gemms

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


# More than the L2 of any GPU that is measured holds, so that each launch reads its operands from memory.
ROTATED_BYTES = 120 << 20
MOST_SETS = 200
# At a time, which bounds what the check takes of the GPU's memory.
CHECKED_ROWS = 4096


def operand_sets(options, m, n, k):
    """A, B, and C of ours and of a peer; layouts tn, tt: B is stored as n x k, tt, nt: A is as k x m. With --graphs as
    many sets as L2 does not hold."""
    dtype, out = DTYPES[options.dtype], DTYPES[options.out]

    def random_matrix(rows, columns):
        if dtype == torch.int8:
            return torch.randint(-128, 128, (rows, columns), device="cuda", dtype=dtype)
        return torch.randn(rows, columns, device="cuda", dtype=torch.float32).to(dtype)

    def operands():
        a = random_matrix(m, k) if options.layout[1] == "n" else random_matrix(k, m)
        b = random_matrix(n, k) if options.layout[0] == "t" else random_matrix(k, n)
        return a, b, torch.empty(m, n, device="cuda", dtype=out), torch.empty(m, n, device="cuda", dtype=out)

    bytes_of_set = (m * k + n * k) * dtype.itemsize + m * n * out.itemsize
    return [operands() for _ in range(min(MOST_SETS, ROTATED_BYTES // bytes_of_set + 1) if options.graphs else 1)]


def as_factors(a, b, options):
    """A as m x k, B as k x n."""
    return a if options.layout[1] == "n" else a.t(), b.t() if options.layout[0] == "t" else b


def cublas(options, a, b, c):
    """A launch that writes c; None where cuBLAS, as PyTorch calls it, has no such product."""
    left, right = as_factors(a, b, options)
    if a.dtype == torch.float8_e4m3fn:
        if a.shape[1] % 16 or b.shape[0] % 16:
            return None
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(left, right, one, one, out_dtype=c.dtype, use_fast_accum=True, out=c)
    if a.dtype == torch.int8:
        if c.dtype != torch.int32 or a.shape[0] <= 16 or a.shape[1] % 8 or b.shape[0] % 8:
            return None
        return lambda: torch._int_mm(left, right, out=c)
    if a.dtype == torch.float32:
        torch.backends.cuda.matmul.allow_tf32 = True
    if c.dtype == a.dtype:
        return lambda: torch.mm(left, right, out=c)
    return lambda: torch.mm(left, right, out_dtype=c.dtype, out=c)


def gemm_error(options, a, b, c):
    """The largest error of c in units of what is allowed."""
    left, right = as_factors(a, b, options)
    m, k = left.shape
    # Each of k additions rounds a running sum of about sqrt(k) to f32, and tensor cores always downwards; e4m3 is summed
    # with 13 fractional bits of the largest term, 32 at a time, and 10 fractional bits of an f32 are read.
    absolute = k * math.sqrt(k) * 2.0**-24
    if options.dtype == "e4m3":
        absolute = (k / 32 + 1) * (math.sqrt(k) + 8) * 2.0**-12
    elif options.dtype == "i8":
        absolute = 0.5
    elif options.dtype == "f32":
        absolute += math.sqrt(k) * 2.0**-7
    # All of it in double precision: where cuBLAS splits k it adds parts that are rounded to the output's type.
    exact = right.double()
    return max(compare(c[rows:rows + CHECKED_ROWS], left[rows:rows + CHECKED_ROWS].double() @ exact,
                       ROUNDING[options.out], absolute) for rows in range(0, m, CHECKED_ROWS))


def gemm_case(library, options, m, n, k, name=""):
    """C = A · B, accumulated in f32. With --graphs the operands of a batch rotate through more than L2 holds."""
    sets = operand_sets(options, m, n, k)
    a, b, c, _ = sets[0]
    parameters = {"m": m, "n": n, "k": k, "dtype": options.dtype, "out": options.out, "layout": options.layout}
    ours, others = zip(*(programs(library, "gemm", parameters, tensors[:3], options) for tensors in sets))
    others = {other: [launches[other] for launches in others] for other in others[0]}

    def check():
        c.fill_(math.nan if c.is_floating_point() else -77)
        ours[0]()
        error = gemm_error(options, a, b, c)
        return {"largest_error": error, "limit": 1.0, "correct": error <= 1.0}

    launches = [cublas(options, a, b, c_peer) for a, b, _, c_peer in sets]
    peers = {"cublas": launches} if launches[0] else {}
    if options.target == "sm_80":
        from triton_gemm import triton_gemm  # which needs Triton

        peers["triton"] = [triton_gemm(*as_factors(a, b, options), torch.empty_like(c)) for a, b, c, _ in sets]
    identity = {"kernel": "gemm", **({"name": name} if name else {}), **parameters, **dict(options.define)}
    return Case(identity, 2 * m * n * k, list(ours), peers, check, others)


def gemm_shapes(options):
    if options.random:
        return random_gemms(options.random, options.seed)
    if options.uniform:
        return uniform_gemms(options.uniform, options.seed)
    if options.models is not None:
        return drawn(model_gemms(), options)
    return [GemmShape(*shape) for shape in options.shape or GEMM_SHAPES]


def gemm_cases(library, options):
    for shape in gemm_shapes(options):
        yield gemm_case(library, options, shape.m, shape.n, shape.k, shape.name)
