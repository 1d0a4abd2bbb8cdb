# SPDX-License-Identifier: Apache-2.0
"""Attention of sequences that several ranks have, and its gradients, against NCCL and cuDNN, and against attention alone.
Causal, in zigzag order: rank r has parts r and 2 ranks - 1 - r of a sequence. A suite gives names of cases, and what makes
each one."""

import functools
import math

import torch

from attention_cases import BACKENDS, expected_rows, sdpa
from backward_cases import gradients_by_autograd
from measure import Case, DTYPES, ROUNDING, compare
from rank_launches import (CHECKED_ROWS, DTYPE, bound_on_each, drawn, empty, normal, on_each, one_after_the_other,
                           programs_of_ranks, verdict)

LENGTHS = [16384, 32768, 65536]
HEADS, KV_HEADS, DEPTH = 32, 8, 128
GROUP = HEADS // KV_HEADS
OF_HEADS = {"b": 1, "h": HEADS, "hkv": KV_HEADS, "d": DEPTH, "dtype": DTYPE, "causal": "right"}


class Shards:
    """Q, K and V of each rank, and what NCCL gathers."""

    def __init__(self, ranks, length):
        if length % (2 * ranks):
            raise ValueError(f"expected a length that {2 * ranks} parts divide, but got {length}")
        self.ranks, self.length = ranks, length
        self.each, self.part, self.rows = range(ranks), length // (2 * ranks), length // ranks
        self.q = [normal(rank, 1, self.rows, HEADS, DEPTH) for rank in self.each]
        self.k, self.v = ([normal(rank, 1, self.rows, KV_HEADS, DEPTH) for rank in self.each] for _ in range(2))
        self.places = [(rank, 2 * ranks - 1 - rank) for rank in self.each]  # of a rank's parts
        self.gathered = [[empty(rank, ranks, self.rows, KV_HEADS, DEPTH) for rank in self.each] for _ in range(2)]
        self.whole = [[empty(rank, 1, length, KV_HEADS, DEPTH) for rank in self.each] for _ in range(2)]
        self.parameters = {**OF_HEADS, "sq": self.rows, "sk": self.rows, "order": "zigzag"}
        self.pairs = HEADS * length * (length + 1) // 2
        self.received_bytes = 2 * (ranks - 1) * self.rows * KV_HEADS * DEPTH * DTYPES[DTYPE].itemsize  # by an all-gather

    def gather(self):
        for own, of_all in zip((self.k, self.v), self.gathered):
            torch.cuda.nccl.all_gather(own, of_all)

    def in_order(self, rank):
        parts_of_all = [2 * place if place < self.ranks else 2 * (2 * self.ranks - 1 - place) + 1 for place in range(2 * self.ranks)]
        for of_all, sequence in zip(self.gathered, self.whole):
            parts = of_all[rank].view(2 * self.ranks, self.part, KV_HEADS, DEPTH)
            torch.cat([parts[at] for at in parts_of_all], out=sequence[rank][0])

    def complete(self):
        """Launches that fill `whole`."""
        return one_after_the_other(self.gather, on_each([lambda rank=rank: self.in_order(rank) for rank in self.each]))

    def rows_of_part(self, tensors, rank, i):
        return tensors[rank][:, i * self.part:(i + 1) * self.part]

    def end(self, rank, i):
        """Keys that the queries of that part see, at most."""
        return (self.places[rank][i] + 1) * self.part

    def places_of(self, rank, rows):
        """Where rows of a rank are in the sequence."""
        at = torch.as_tensor(rows, device=f"cuda:{rank}")
        first, second = (place * self.part for place in self.places[rank])
        return torch.where(at < self.part, first + at, second + at - self.part)

    def chosen(self):
        """Rows of a rank that are checked."""
        return sorted({0, self.part - 1, self.part, self.rows - 1, *drawn(CHECKED_ROWS, self.rows)[0]})

    def cudnn_calls(self, rank):
        """PyTorch aligns causal attention at the left, so the keys before a part are a call of their own: tensors, and
        whether it is causal. Nobody merges the results, which favours cuDNN."""
        for i in range(2):
            queries = self.rows_of_part(self.q, rank, i).transpose(1, 2)
            keys, values = (sequence[rank].transpose(1, 2) for sequence in self.whole)
            end, first = self.end(rank, i), self.end(rank, i) - self.part
            if first:
                yield (queries, keys[:, :, :first], values[:, :, :first]), False
            yield (queries, keys[:, :, first:end], values[:, :, first:end]), True

    def identity(self, kernel, options, received_bytes):
        return {"kernel": kernel, "ranks": self.ranks, "s": self.length, **self.parameters, **dict(options.define),
                "received_bytes": received_bytes}


def attention_case(library, options, ranks, length):
    shards = Shards(ranks, length)
    each, part, rows = shards.each, shards.part, shards.rows
    o = [empty(rank, 1, rows, HEADS, DEPTH) for rank in each]
    lse = [empty(rank, 1, HEADS, rows, dtype=torch.float32) for rank in each]
    ours, others = programs_of_ranks(library, "attention_fwd_sharded", ranks, shards.parameters,
                                     list(zip(shards.q, shards.k, shards.v, o, lse)), options)
    cudnn = on_each([one_after_the_other(*(sdpa(BACKENDS["cudnn"], *tensors, causal) for tensors, causal in shards.cudnn_calls(rank)))
                     for rank in each])
    programs = library.compile_on_each("attention_fwd", ranks, **OF_HEADS, sq=part, sk=length)
    # Its results are not ours.
    own_results = [(empty(rank, 1, part, HEADS, DEPTH), empty(rank, 1, HEADS, part, dtype=torch.float32)) for rank in each]
    alone = []
    for i in range(2):
        tensors = [(shards.rows_of_part(shards.q, rank, i), *(sequence[rank][:, :shards.end(rank, i)] for sequence in shards.whole),
                    *own_results[rank]) for rank in each]
        alone += bound_on_each(programs, tensors)
    others = {"attention_alone": one_after_the_other(*alone), "cudnn_alone": cudnn, "nccl_alone": shards.gather, **others}
    complete = shards.complete()

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
            chosen = shards.chosen()
            visible = torch.arange(length, device=f"cuda:{rank}")[None, :] <= shards.places_of(rank, chosen)[:, None]
            for head in (0, HEADS - 1):
                keys, values = (sequence[rank][0, :, head // GROUP] for sequence in shards.whole)
                wanted, sums = expected_rows(shards.q[rank][0, chosen, head], keys, values, visible, DEPTH**-0.5)
                worst = max(worst, compare(o[rank][0, chosen, head], wanted, 2 * rounding, 2 * rounding),
                            compare(lse[rank][0, head, chosen], sums, 1e-5, 1e-5))
        return verdict(worst)

    return Case(shards.identity("attention_fwd_sharded", options, shards.received_bytes), 4 * shards.pairs * DEPTH, ours,
                {"nccl, cudnn": one_after_the_other(complete, cudnn)}, check, others)


class Gradients:
    """Rows of gradients in double precision, from O and LSE of our forward."""

    def __init__(self, shards, o, lse, d_o):
        self.shards, self.o, self.lse, self.d_o = shards, o, lse, d_o

    def of_scores(self, rank, head, rows, keys, of_whole):
        """Weights and gradients of scores of these queries of a rank and these keys, which are positions."""
        shards = self.shards
        q, d_o, o = (tensors[rank][0, rows, head].double() for tensors in (shards.q, self.d_o, self.o))
        k, v = (sequence[rank][0, keys, head // GROUP].double() for sequence in of_whole)
        visible = keys[None, :] <= shards.places_of(rank, rows)[:, None]
        scores = (q @ k.t() * DEPTH**-0.5).masked_fill(~visible, -math.inf)
        weights = (scores - self.lse[rank][0, head, rows].double()[:, None]).exp()
        return weights, weights * (d_o @ v.t() - (d_o * o).sum(-1, keepdim=True)) * DEPTH**-0.5

    def of_queries(self, rank, head, rows):
        keys = torch.arange(self.shards.length, device=f"cuda:{rank}")
        _, of_scores = self.of_scores(rank, head, torch.as_tensor(rows, device=f"cuda:{rank}"), keys, self.shards.whole)
        return of_scores @ self.shards.whole[0][rank][0, :, head // GROUP].double()

    def of_keys(self, owner, kv_head, rows):
        """Of K and of V, summed over the queries of all ranks."""
        sums = [0.0, 0.0]
        for rank in self.shards.each:
            keys = self.shards.places_of(owner, rows).to(f"cuda:{rank}")
            own = torch.arange(self.shards.rows, device=f"cuda:{rank}")
            for head in range(kv_head * GROUP, (kv_head + 1) * GROUP):
                weights, of_scores = self.of_scores(rank, head, own, keys, self.shards.whole)
                terms = (of_scores.t() @ self.shards.q[rank][0, :, head].double(), weights.t() @ self.d_o[rank][0, :, head].double())
                sums = [total + term.to(f"cuda:{owner}") for total, term in zip(sums, terms)]
        return sums


def attention_bwd_case(library, options, ranks, length):
    """The launches of the backward; the forward is launched once."""
    shards = Shards(ranks, length)
    each, part, rows = shards.each, shards.part, shards.rows
    o, d_q = ([empty(rank, 1, rows, HEADS, DEPTH) for rank in each] for _ in range(2))
    lse = [empty(rank, 1, HEADS, rows, dtype=torch.float32) for rank in each]
    d_o = [normal(rank, 1, rows, HEADS, DEPTH) for rank in each]
    d_k, d_v = ([empty(rank, 1, rows, KV_HEADS, DEPTH) for rank in each] for _ in range(2))
    library.compile_ranks("attention_fwd_sharded", ranks, **shards.parameters).bind(list(zip(shards.q, shards.k, shards.v, o, lse)))()
    ours, others = programs_of_ranks(library, "attention_bwd_sharded", ranks, shards.parameters,
                                     list(zip(shards.q, shards.k, shards.v, o, d_o, lse, d_q, d_k, d_v)), options)
    complete = shards.complete()
    complete()

    # Nobody adds up what calls of cuDNN give for the same keys, which favours cuDNN.
    @functools.cache
    def cudnn_gradients(rank):
        calls = []
        for tensors, causal in shards.cudnn_calls(rank):
            leaves = [tensor.detach().requires_grad_() for tensor in tensors]
            upstream = shards.rows_of_part(d_o, rank, 0).transpose(1, 2)
            calls.append(gradients_by_autograd(sdpa(BACKENDS["cudnn"], *leaves, causal), leaves, upstream))
        return one_after_the_other(*calls)

    cudnn = on_each([lambda rank=rank: cudnn_gradients(rank)() for rank in each])
    terms = [[empty(rank, ranks, rows, KV_HEADS, DEPTH) for rank in each] for _ in range(2)]
    sums = [[empty(rank, 1, rows, KV_HEADS, DEPTH) for rank in each] for _ in range(2)]

    def scatter():
        for of_all, own in zip(terms, sums):
            torch.cuda.nccl.reduce_scatter(of_all, own)

    programs = library.compile_on_each("attention_bwd", ranks, **OF_HEADS, sq=part, sk=length)
    own_results = [(empty(rank, 1, part, HEADS, DEPTH), *(empty(rank, 1, length, KV_HEADS, DEPTH) for _ in range(2))) for rank in each]
    alone = []
    for i in range(2):
        tensors = []
        for rank in each:
            end = shards.end(rank, i)
            q, of_o, gradient = (shards.rows_of_part(of_rank, rank, i) for of_rank in (shards.q, o, d_o))
            d_q_alone, *of_keys = own_results[rank]
            tensors.append((q, *(sequence[rank][:, :end] for sequence in shards.whole), of_o, gradient,
                            lse[rank][:, :, i * part:(i + 1) * part], d_q_alone, *(result[:, :end] for result in of_keys)))
        alone += bound_on_each(programs, tensors)
    others = {"attention_alone": one_after_the_other(*alone), "cudnn_alone": cudnn,
              "nccl_alone": one_after_the_other(shards.gather, scatter), **others}
    expected = Gradients(shards, o, lse, d_o)

    def check():
        for tensor in (*d_q, *d_k, *d_v):
            tensor.fill_(math.nan)
        ours()
        worst, rounding = 0.0, 2 * ROUNDING[DTYPE]
        if not all(bool(tensor.isfinite().all()) for tensor in (*d_q, *d_k, *d_v)):
            return verdict(math.inf)
        for rank in each:
            chosen = shards.chosen()
            found = [(d_q, head, expected.of_queries(rank, head, chosen)) for head in (0, HEADS - 1)]
            of_keys = expected.of_keys(rank, KV_HEADS - 1, chosen)
            found += [(tensors, KV_HEADS - 1, gradient) for tensors, gradient in zip((d_k, d_v), of_keys)]
            # Weights and gradients of scores are rounded before products of many terms.
            worst = max(worst, *(compare(tensors[rank][0, chosen, head], gradient, 2 * rounding, rounding * gradient.abs().amax().item())
                                 for tensors, head, gradient in found))
        return verdict(worst)

    return Case(shards.identity("attention_bwd_sharded", options, 2 * shards.received_bytes), 10 * shards.pairs * DEPTH, ours,
                {"nccl, cudnn": one_after_the_other(complete, cudnn, scatter)}, check, others)


def cases_of(name, make_case):
    def cases(library, options):
        for length in options.length or LENGTHS:
            for ranks in options.ranks:
                yield (f"{name}, {ranks} ranks, {length}",
                       lambda ranks=ranks, length=length: make_case(library, options, ranks, length))
    return cases


attention_cases = cases_of("attention", attention_case)
attention_bwd_cases = cases_of("attention_bwd", attention_bwd_case)
