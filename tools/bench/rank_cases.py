# SPDX-License-Identifier: Apache-2.0
"""Kernels of several ranks against NCCL and then cuBLAS or cuDNN, and against products or attention alone.

Rank i is GPU i. Lists have an entry for each rank, whose tensors are on its GPU. A suite gives names of cases, and what
makes each one.
"""

import math
import random

import torch

from attention_cases import BACKENDS, expected_rows, sdpa
from measure import Case, DTYPES, ROUNDING, compare
from shapes import GemmShape

GEMMS = ("all_gather_gemm", "gemm_reduce_scatter", "gemm_all_reduce")
GEMM_SHAPES = [GemmShape(8192, 8192, 8192), GemmShape(16384, 7168, 4096), GemmShape(4096, 12288, 49152)]
ATTENTION_LENGTHS = [16384, 32768, 65536]
HEADS, KV_HEADS, DEPTH = 32, 8, 128
ALL_REDUCE_BYTES = [1 << 20, 1 << 24, 1 << 28]
COPIED_BYTES = 1 << 28
DTYPE = "bf16"
CHECKED_ROWS, CHECKED_COLUMNS = 16, 64


def normal(rank, *shape):
    return torch.randn(*shape, device=f"cuda:{rank}", dtype=DTYPES[DTYPE])


def empty(rank, *shape, dtype=DTYPES[DTYPE]):
    return torch.empty(*shape, device=f"cuda:{rank}", dtype=dtype)


def on_each(launches):
    """Launches of all ranks, each while its GPU is the current one."""
    def launch():
        for rank, one in enumerate(launches):
            with torch.cuda.device(rank):
                one()
    return launch


def one_after_the_other(*launches):
    def launch():
        for one in launches:
            one()
    return launch


def bound_on_each(programs, tensors):
    """Launches of ordinary programs, one for each rank."""
    launches = []
    for rank, (program, of_rank) in enumerate(zip(programs, tensors)):
        with torch.cuda.device(rank):
            launches.append(program.bind(*of_rank))
    return launches


def programs_of_ranks(library, kernel, ranks, parameters, tensors, options):
    """Our launch, with what -D says, and others of ours, of each --against with what that says beside it."""
    def launch(further=()):
        chosen = {**parameters, **dict(options.define), **dict(further)}
        return library.compile_ranks(kernel, ranks, **chosen).bind(tensors)

    return launch(), {",".join(map("=".join, further)): launch(further) for further in options.against}


def verdict(worst):
    return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}


def drawn(count, *of):
    """Positions below each number."""
    return [torch.randint(0, most, (count,)).tolist() for most in of]


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


def attention_case(library, options, ranks, length):
    """Causal, in zigzag order: rank r has parts r and 2 ranks - 1 - r of a sequence."""
    if length % (2 * ranks):
        raise ValueError(f"expected a length that {2 * ranks} parts divide, but got {length}")
    each, part, rows = range(ranks), length // (2 * ranks), length // ranks
    q = [normal(rank, 1, rows, HEADS, DEPTH) for rank in each]
    k, v = ([normal(rank, 1, rows, KV_HEADS, DEPTH) for rank in each] for _ in range(2))
    o = [empty(rank, 1, rows, HEADS, DEPTH) for rank in each]
    lse = [empty(rank, 1, HEADS, rows, dtype=torch.float32) for rank in each]
    heads = {"b": 1, "h": HEADS, "hkv": KV_HEADS, "d": DEPTH, "dtype": DTYPE, "causal": "right"}
    parameters = {**heads, "sq": rows, "sk": rows, "order": "zigzag"}
    ours, others = programs_of_ranks(library, "attention_fwd_sharded", ranks, parameters, list(zip(q, k, v, o, lse)), options)

    places = [(rank, 2 * ranks - 1 - rank) for rank in each]  # of a rank's parts
    gathered = [[empty(rank, ranks, rows, KV_HEADS, DEPTH) for rank in each] for _ in range(2)]
    whole = [[empty(rank, 1, length, KV_HEADS, DEPTH) for rank in each] for _ in range(2)]

    def gather():
        for own, of_all in zip((k, v), gathered):
            torch.cuda.nccl.all_gather(own, of_all)

    def in_order(rank):
        for of_all, sequence in zip(gathered, whole):
            parts = of_all[rank].view(2 * ranks, part, KV_HEADS, DEPTH)
            places_of_parts = [2 * place if place < ranks else 2 * (2 * ranks - 1 - place) + 1 for place in range(2 * ranks)]
            torch.cat([parts[at] for at in places_of_parts], out=sequence[rank][0])

    def cudnn_calls(rank):
        """PyTorch aligns causal attention at the left, so the keys before a part are a call of their own. Nobody merges
        the results, which favours cuDNN."""
        calls = []
        for i, place in enumerate(places[rank]):
            queries = q[rank][:, i * part:(i + 1) * part].transpose(1, 2)
            keys, values = (sequence[rank].transpose(1, 2) for sequence in whole)
            first, end = place * part, (place + 1) * part
            if first:
                calls.append(sdpa(BACKENDS["cudnn"], queries, keys[:, :, :first], values[:, :, :first], False))
            calls.append(sdpa(BACKENDS["cudnn"], queries, keys[:, :, first:end], values[:, :, first:end], True))
        return one_after_the_other(*calls)

    cudnn = on_each([cudnn_calls(rank) for rank in each])
    programs = library.compile_on_each("attention_fwd", ranks, **heads, sq=part, sk=length)
    # Its results are not ours.
    own_results = [(empty(rank, 1, part, HEADS, DEPTH), empty(rank, 1, HEADS, part, dtype=torch.float32)) for rank in each]
    parts_of_ranks = []
    for i in range(2):
        tensors = [(q[rank][:, i * part:(i + 1) * part], *(sequence[rank][:, :(places[rank][i] + 1) * part] for sequence in whole),
                    *own_results[rank]) for rank in each]
        parts_of_ranks += bound_on_each(programs, tensors)
    others = {"attention_alone": one_after_the_other(*parts_of_ranks), "cudnn_alone": cudnn, "nccl_alone": gather, **others}
    complete = one_after_the_other(gather, on_each([lambda rank=rank: in_order(rank) for rank in each]))

    def check():
        for rank in each:
            o[rank].fill_(math.nan)
            lse[rank].fill_(math.nan)
        complete()
        ours()
        worst, rounding = 0.0, ROUNDING[DTYPE]
        for rank in each:
            if not bool(o[rank].isfinite().all() and lse[rank].isfinite().all()):
                return verdict(math.inf)
            chosen = sorted({0, part - 1, part, rows - 1, *drawn(CHECKED_ROWS, rows)[0]})
            device = f"cuda:{rank}"
            of_whole = torch.tensor([places[rank][row // part] * part + row % part for row in chosen], device=device)
            visible = torch.arange(length, device=device)[None, :] <= of_whole[:, None]
            for head in (0, HEADS - 1):
                kv = head * KV_HEADS // HEADS
                wanted, sums = expected_rows(q[rank][0, chosen, head], whole[0][rank][0, :, kv], whole[1][rank][0, :, kv],
                                             visible, DEPTH**-0.5)
                worst = max(worst, compare(o[rank][0, chosen, head], wanted, 2 * rounding, 2 * rounding),
                            compare(lse[rank][0, head, chosen], sums, 1e-5, 1e-5))
        return verdict(worst)

    identity = {"kernel": "attention_fwd_sharded", "ranks": ranks, "s": length, **parameters, **dict(options.define),
                "received_bytes": 2 * (ranks - 1) * rows * KV_HEADS * DEPTH * DTYPES[DTYPE].itemsize}
    return Case(identity, 2 * HEADS * length * (length + 1) // 2 * 2 * DEPTH, ours, {"nccl, cudnn": one_after_the_other(complete, cudnn)}, check, others)


def attention_cases(library, options):
    for length in options.length or ATTENTION_LENGTHS:
        for ranks in options.ranks:
            yield (f"attention, {ranks} ranks, {length}",
                   lambda ranks=ranks, length=length: attention_case(library, options, ranks, length))


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
