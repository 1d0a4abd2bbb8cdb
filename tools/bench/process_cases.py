# SPDX-License-Identifier: Apache-2.0
"""Small work of several ranks, and what comes out of it in double precision. Each rank makes the tensors of all of them
from the same seed, on the CPU."""

import math
from dataclasses import dataclass

import torch

from measure import DTYPES, ROUNDING

DTYPE = "bf16"


@dataclass
class ProcessCase:
    kernel: str
    parameters: dict
    inputs: list  # of each rank, as the kernel declares them
    outputs: list  # of each rank, not a number
    expected: list  # of each rank and output: numbers, and what `compare` allows


def normal(source, *shape):
    return torch.randn(*shape, generator=source).to(DTYPES[DTYPE])


def unwritten(*shape, dtype=DTYPES[DTYPE]):
    return torch.full(shape, math.nan, dtype=dtype)


def all_gather_gemm(ranks, seed, rows=130):
    m, n, k = rows, 200, 72
    source, each = torch.Generator().manual_seed(seed), range(ranks)
    a, b = [normal(source, m, k) for _ in each], [normal(source, n, k) for _ in each]
    expected = [torch.stack([a[owner].double() @ b[rank].double().t() for owner in each]) for rank in each]
    allowed = 2 * ROUNDING[DTYPE], 4 * ROUNDING[DTYPE] * math.sqrt(k)
    return ProcessCase("all_gather_gemm", {"m": m, "n": n, "k": k, "dtype": DTYPE, "out": DTYPE},
                       [[a[rank], b[rank]] for rank in each], [[unwritten(ranks, m, n)] for _ in each],
                       [[(numbers, *allowed)] for numbers in expected])


def gemm_reduce_scatter(ranks, seed):
    m, n, k = 100, 136, 72
    source, each = torch.Generator().manual_seed(seed), range(ranks)
    a, b = [normal(source, ranks, m, k) for _ in each], [normal(source, n, k) for _ in each]
    expected = [sum(a[other][rank].double() @ b[other].double().t() for other in each) for rank in each]
    allowed = 2 * ROUNDING[DTYPE], 8 * ROUNDING[DTYPE] * math.sqrt(k * ranks)  # terms are rounded, too
    return ProcessCase("gemm_reduce_scatter", {"m": m, "n": n, "k": k, "dtype": DTYPE, "out": DTYPE},
                       [[a[rank], b[rank]] for rank in each], [[unwritten(m, n)] for _ in each],
                       [[(numbers, *allowed)] for numbers in expected])


def gemm_all_reduce(ranks, seed):
    m, n, k = 130, 136, 72
    source, each = torch.Generator().manual_seed(seed), range(ranks)
    a, b = [normal(source, m, k) for _ in each], [normal(source, n, k) for _ in each]
    expected = sum(a[other].double() @ b[other].double().t() for other in each)
    allowed = 2 * ROUNDING[DTYPE], 8 * ROUNDING[DTYPE] * math.sqrt(k * ranks)  # terms are rounded, too
    return ProcessCase("gemm_all_reduce", {"m": m, "n": n, "k": k, "dtype": DTYPE, "out": DTYPE},
                       [[a[rank], b[rank]] for rank in each], [[unwritten(m, n)] for _ in each],
                       [[(expected, *allowed)] for _ in each])


def all_reduce(ranks, seed):
    n = 10001
    source, each = torch.Generator().manual_seed(seed), range(ranks)
    x = [normal(source, n) for _ in each]
    expected = sum(terms.double() for terms in x)
    allowed = 2 * ROUNDING[DTYPE], 4 * ROUNDING[DTYPE] * ranks  # NCCL rounds after each term
    return ProcessCase("all_reduce", {"n": n, "dtype": DTYPE}, [[x[rank]] for rank in each], [[unwritten(n)] for _ in each],
                       [[(expected, *allowed)] for _ in each])


class Sequences:
    """Causal attention of a sequence that ranks have in zigzag order, and its gradients, in double precision."""

    rows, heads, kv_heads, depth = 100, 4, 2, 64  # rows of a rank

    def __init__(self, ranks, seed):
        source, self.each = torch.Generator().manual_seed(seed), range(ranks)
        length, part = self.rows * ranks, self.rows // 2
        self.places = [[place * part + row for place in (rank, 2 * ranks - 1 - rank) for row in range(part)] for rank in self.each]
        q, d_o = (normal(source, length, self.heads, self.depth) for _ in range(2))
        k, v = (normal(source, length, self.kv_heads, self.depth) for _ in range(2))
        self.parameters = {"b": 1, "h": self.heads, "hkv": self.kv_heads, "d": self.depth, "dtype": DTYPE, "causal": "right",
                           "sq": self.rows, "sk": self.rows, "order": "zigzag"}
        self.inputs = {"q": q, "k": k, "v": v, "d_o": d_o}
        leaves = [tensor.double().requires_grad_() for tensor in (q, k, v)]
        group = self.heads // self.kv_heads
        keys, values = (leaf.repeat_interleave(group, dim=1) for leaf in leaves[1:])
        scores = torch.einsum("qhd,khd->hqk", leaves[0], keys) * self.depth**-0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
        self.o = torch.einsum("hqk,khd->qhd", scores.softmax(-1), values)
        self.lse = scores.logsumexp(-1)
        self.gradients = torch.autograd.grad(self.o, leaves, d_o.double())

    def of_rank(self, rows, rank):
        """The rank's rows of those of the sequence, in a batch of one."""
        return rows.detach()[self.places[rank]][None]

    def lse_of_rank(self, rank):
        return self.lse.detach()[:, self.places[rank]][None]


def attention_fwd_sharded(ranks, seed):
    work = Sequences(ranks, seed)
    close, closer = (2 * ROUNDING[DTYPE],) * 2, (1e-5, 1e-5)
    return ProcessCase("attention_fwd_sharded", work.parameters,
                       [[work.of_rank(work.inputs[name], rank) for name in "qkv"] for rank in work.each],
                       [[unwritten(1, work.rows, work.heads, work.depth), unwritten(1, work.heads, work.rows, dtype=torch.float32)]
                        for _ in work.each],
                       [[(work.of_rank(work.o, rank), *close), (work.lse_of_rank(rank), *closer)] for rank in work.each])


def attention_bwd_sharded(ranks, seed):
    work = Sequences(ranks, seed)
    rounding = 2 * ROUNDING[DTYPE]  # weights and gradients of scores are rounded before products of many terms
    inputs, outputs, expected = [], [], []
    for rank in work.each:
        q, k, v, d_o = (work.of_rank(rows, rank) for rows in work.inputs.values())
        inputs.append([q, k, v, work.of_rank(work.o, rank).to(q.dtype), d_o, work.lse_of_rank(rank).float()])
        outputs.append([unwritten(*like.shape) for like in (q, k, v)])
        gradients = [work.of_rank(gradient, rank) for gradient in work.gradients]
        expected.append([(gradient, 2 * rounding, rounding * gradient.abs().amax().item()) for gradient in gradients])
    return ProcessCase("attention_bwd_sharded", work.parameters, inputs, outputs, expected)


# Those of a product or a sum, which a communicator does, too.
COLLECTIVE_CASES = (all_reduce, all_gather_gemm, gemm_reduce_scatter, gemm_all_reduce)
CASES = (*COLLECTIVE_CASES, attention_fwd_sharded, attention_bwd_sharded)


def timed(ranks):
    """Kernels, their parameters, and the shapes of their tensors."""
    n = 1 << 19
    yield "all_reduce", {"n": n, "dtype": DTYPE}, [(n,), (n,)]
    m, n, k = 8192 // ranks, 8192 // ranks, 8192
    yield "all_gather_gemm", {"m": m, "n": n, "k": k, "dtype": DTYPE, "out": DTYPE}, [(m, k), (n, k), (ranks, m, n)]
    m, n, k = 8192 // ranks, 8192, 8192 // ranks
    yield "gemm_reduce_scatter", {"m": m, "n": n, "k": k, "dtype": DTYPE, "out": DTYPE}, [(ranks, m, k), (n, k), (m, n)]
