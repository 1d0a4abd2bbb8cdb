# SPDX-License-Identifier: Apache-2.0
"""Products and sums of several ranks against NCCL and then cuBLAS, and against products alone. A suite gives names of
cases, and what makes each one."""

import math
import random

import torch

from measure import Case, DTYPES, ROUNDING, compare
from rank_launches import (CHECKED_COLUMNS, CHECKED_ROWS, DTYPE, bound_on_each, drawn, empty, normal, on_each,
                           one_after_the_other, programs_of_ranks, verdict)
from shapes import GemmShape

GEMMS = ("all_gather_gemm", "gemm_reduce_scatter", "gemm_all_reduce")
GEMM_SHAPES = [GemmShape(8192, 8192, 8192), GemmShape(16384, 7168, 4096), GemmShape(4096, 12288, 49152)]
ALL_REDUCE_BYTES = [1 << 20, 1 << 24, 1 << 28]
COPIED_BYTES = 1 << 28


def gemm_case(library, options, kernel, ranks, m, n, k):
    """m, n, k as the kernel has them on a rank."""
    gathers, scatters = kernel == "all_gather_gemm", kernel == "gemm_reduce_scatter"
    each = range(ranks)
    rows = m * ranks if gathers or scatters else m  # of a rank's own product
    a = [normal(rank, ranks, m, k) if scatters else normal(rank, m, k) for rank in each]
    b = [normal(rank, n, k) for rank in each]
    c = [empty(rank, ranks, m, n) if gathers else empty(rank, m, n) for rank in each]
    parameters = {"m": m, "n": n, "k": k, "dtype": DTYPE, "out": DTYPE}
    ours, others = programs_of_ranks(library, kernel, ranks, parameters, list(zip(a, b, c)), options)

    left = [empty(rank, rows, k) if gathers else a[rank].view(rows, k) for rank in each]  # of the product alone
    product = [empty(rank, rows, n) for rank in each]
    result = product if gathers else [empty(rank, m, n) for rank in each]
    nccl = {
        "all_gather_gemm": lambda: torch.cuda.nccl.all_gather(a, left),
        "gemm_reduce_scatter": lambda: torch.cuda.nccl.reduce_scatter(product, result),
        "gemm_all_reduce": lambda: torch.cuda.nccl.all_reduce(product, result),
    }[kernel]
    cublas = on_each([lambda rank=rank: torch.matmul(left[rank], b[rank].t(), out=product[rank]) for rank in each])
    alone = library.compile_on_each("gemm", ranks, m=rows, n=n, k=k, dtype=DTYPE, out=DTYPE)
    # Into memory of its own: what the peer has computed is compared with.
    others = {"gemm_alone": one_after_the_other(*bound_on_each(alone, list(zip(left, b, map(torch.empty_like, product))))),
              "cublas_alone": cublas, "nccl_alone": nccl, **others}
    peer = one_after_the_other(nccl, cublas) if gathers else one_after_the_other(cublas, nccl)
    terms = 1 if gathers else ranks

    def expected(rank, chosen_rows, columns):
        sums = 0.0
        for other in ([rank] if gathers else each):
            if gathers:
                factor = torch.stack([a[row // m][row % m].to(f"cuda:{rank}") for row in chosen_rows])
            else:
                factor = (a[other][rank] if scatters else a[other])[chosen_rows]
            sums = sums + (factor.double() @ b[other][columns].double().t()).to(f"cuda:{rank}")
        return sums

    def check():
        for rank in each:
            c[rank].fill_(math.nan)
        peer()
        ours()
        rounding, deviation, worst = ROUNDING[DTYPE], math.sqrt(k * terms), 0.0
        for rank in each:
            own = c[rank].view(-1, n)
            worst = max(worst, compare(own, result[rank].float(), 2 * rounding, 8 * rounding * deviation))
            chosen_rows, columns = drawn(CHECKED_ROWS, own.shape[0])[0], drawn(CHECKED_COLUMNS, n)[0]
            worst = max(worst, compare(own[chosen_rows][:, columns], expected(rank, chosen_rows, columns), 2 * rounding,
                                       4 * rounding * deviation))
        return verdict(worst)

    transferred = {"all_gather_gemm": (ranks - 1) * m * k, "gemm_reduce_scatter": (ranks - 1) * m * n,
                   "gemm_all_reduce": 2 * (ranks - 1) * m * n // ranks}[kernel] * DTYPES[DTYPE].itemsize
    identity = {"kernel": kernel, "ranks": ranks, **parameters, **dict(options.define), "received_bytes": transferred}
    return Case(identity, 2 * rows * n * k * ranks, ours, {"nccl, cublas": peer}, check, others)


def split_gemm(kernel, ranks, shape):
    """m, n, k of a rank, of a product that is split over ranks."""
    m, n, k = shape.m, shape.n, shape.k
    split = {"all_gather_gemm": (m, n), "gemm_reduce_scatter": (m, k), "gemm_all_reduce": (k,)}[kernel]
    if any(extent % ranks for extent in split):
        raise ValueError(f"expected extents that {ranks} ranks divide, but got m, n, k = {m}, {n}, {k} of {kernel}")
    return {"all_gather_gemm": (m // ranks, n // ranks, k), "gemm_reduce_scatter": (m // ranks, n, k // ranks),
            "gemm_all_reduce": (m, n, k // ranks)}[kernel]


def gemm_cases(library, options):
    shapes = [GemmShape(*shape) for shape in options.shape or []] or GEMM_SHAPES
    for shape in shapes:
        for kernel in GEMMS:
            for ranks in options.ranks:
                yield (f"{kernel}, {ranks} ranks, {shape}",
                       lambda kernel=kernel, ranks=ranks, shape=shape: gemm_case(library, options, kernel, ranks,
                                                                                 *split_gemm(kernel, ranks, shape)))


def random_cases(library, options):
    """Products of extents of each rank that are drawn by --seed, k in steps of 8, so that cuBLAS takes them, too."""
    source = random.Random(options.seed)
    extent = lambda least, most: round(math.exp(source.uniform(math.log(least), math.log(most))))
    for _ in range(options.random):
        kernel, ranks = source.choice(GEMMS), source.choice(options.ranks)
        m, n, k = extent(16, 8192), extent(64, 8192), 8 * extent(8, 1024)
        yield (f"{kernel}, {ranks} ranks, of a rank {m}, {n}, {k}",
               lambda kernel=kernel, ranks=ranks, m=m, n=n, k=k: gemm_case(library, options, kernel, ranks, m, n, k))


def all_reduce_case(library, options, ranks, count):
    each = range(ranks)
    x, y = [normal(rank, count) for rank in each], [empty(rank, count) for rank in each]
    result = [empty(rank, count) for rank in each]
    parameters = {"n": count, "dtype": DTYPE}
    ours, others = programs_of_ranks(library, "all_reduce", ranks, parameters, list(zip(x, y)), options)

    def check():
        for rank in each:
            y[rank].fill_(math.nan)
        ours()
        sums = sum(part.to("cuda:0").float() for part in x)
        return verdict(max(compare(part.to("cuda:0"), sums, 2 * ROUNDING[DTYPE], 1e-5) for part in y))

    size = count * DTYPES[DTYPE].itemsize
    identity = {"kernel": "all_reduce", "ranks": ranks, **parameters, **dict(options.define),
                "received_bytes": 2 * (ranks - 1) * size // ranks}
    return Case(identity, count * ranks * ranks, ours, {"nccl": lambda: torch.cuda.nccl.all_reduce(x, result)}, check, others)


def all_reduce_cases(library, options):
    for size in ALL_REDUCE_BYTES:
        for ranks in options.ranks:
            yield (f"all_reduce, {ranks} ranks, {size} bytes",
                   lambda ranks=ranks, size=size: all_reduce_case(library, options, ranks, size // DTYPES[DTYPE].itemsize))


def copy_case(ranks):
    """Not a kernel of ours: each rank copies from the next one by its copy engine."""
    sources = [normal(rank, COPIED_BYTES // DTYPES[DTYPE].itemsize) for rank in range(ranks)]
    targets = [torch.empty_like(source) for source in sources]

    # A copy waits for the streams of both GPUs, of the source for one of its own: else all copies would form a chain.
    senders = [torch.cuda.Stream(rank) for rank in range(ranks)]

    def launch():
        for rank in range(ranks):
            source = (rank + 1) % ranks
            with torch.cuda.stream(senders[source]):
                targets[rank].copy_(sources[source], non_blocking=True)

    def check():
        launch()
        return verdict(0.0 if all(torch.equal(targets[rank], sources[(rank + 1) % ranks].to(f"cuda:{rank}"))
                                  for rank in range(ranks)) else math.inf)

    return Case({"kernel": "copy", "ranks": ranks, "received_bytes": COPIED_BYTES}, 0, launch, {}, check)


def copy_cases(library, options):
    for ranks in options.ranks:
        yield f"copy, {ranks} ranks", lambda ranks=ranks: copy_case(ranks)
