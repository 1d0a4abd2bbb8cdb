# SPDX-License-Identifier: Apache-2.0
"""Rows of tokens for experts on several ranks, there and back, against PyTorch's gathers and NCCL's all-to-all of the same
rows, which is told how many rows go where. A suite gives names of cases, and what makes each one."""

import ctypes
import functools
import math

import torch

from measure import Case, DTYPES, ROUNDING, compare
from rank_launches import DTYPE, empty, normal, on_each, one_after_the_other, programs_of_ranks, verdict

TOKENS = [128, 4096, 16384]  # of a rank
HIDDEN, EXPERTS, TOP_K = 7168, 256, 8


@functools.cache
def communicators(ranks):
    nccl = ctypes.CDLL("libnccl.so.2")  # which PyTorch has loaded
    all_ranks = (ctypes.c_void_p * ranks)()
    if nccl.ncclCommInitAll(all_ranks, ranks, (ctypes.c_int * ranks)(*range(ranks))):
        raise RuntimeError("ncclCommInitAll failed")
    return nccl, [ctypes.c_void_p(each) for each in all_ranks]


def all_to_all(sources, targets, rows):
    """What all_to_all_single does: rows[i][j] rows go from rank i to j, side by side in the order of ranks."""
    ranks = len(sources)
    nccl, all_ranks = communicators(ranks)
    row_bytes = sources[0].shape[1] * sources[0].element_size()
    calls = []
    for rank in range(ranks):
        sent = received = 0
        stream = ctypes.c_void_p(torch.cuda.current_stream(rank).cuda_stream)
        for other in range(ranks):
            for call, tensor, first, count in ((nccl.ncclSend, sources[rank], sent, rows[rank][other]),
                                               (nccl.ncclRecv, targets[rank], received, rows[other][rank])):
                calls.append((call, ctypes.c_void_p(tensor.data_ptr() + first * row_bytes), ctypes.c_size_t(count * row_bytes),
                              0, other, all_ranks[rank], stream))  # 0: bytes
            sent, received = sent + rows[rank][other], received + rows[other][rank]

    def launch():
        if nccl.ncclGroupStart() or any([call(*arguments) for call, *arguments in calls]) or nccl.ncclGroupEnd():
            raise RuntimeError("NCCL failed")

    return launch


class Routes:
    """Any experts for each token, and where its rows go."""

    def __init__(self, ranks, tokens):
        self.ranks, self.tokens, self.each = ranks, tokens, range(ranks)
        self.of_rank = math.ceil(EXPERTS / ranks)
        self.experts = [torch.rand(tokens, EXPERTS, device=f"cuda:{rank}").topk(TOP_K).indices.int() for rank in self.each]
        expert = torch.cat([each.flatten().cpu() for each in self.experts])  # by rank, token, slot
        order = expert.argsort(stable=True)
        owners = [expert[order] // self.of_rank == owner for owner in self.each]
        self.sources = [order[chosen] for chosen in owners]  # of the rows that a rank gets
        self.counts = torch.bincount(expert, minlength=EXPERTS)
        self.rows = [[int((sources // (tokens * TOP_K) == rank).sum()) for sources in self.sources] for rank in self.each]
        self.capacity = max(tokens * TOP_K * 5 // 4, *(len(sources) for sources in self.sources))
        place = torch.empty(ranks * tokens * TOP_K, 2, dtype=torch.int32)
        for owner, sources in enumerate(self.sources):
            place[sources, 0] = owner
            place[sources, 1] = torch.arange(len(sources), dtype=torch.int32)
        self.place = [part.view(tokens, TOP_K, 2).to(f"cuda:{rank}").contiguous() for rank, part in enumerate(place.chunk(ranks))]
        # What is sent to ranks in turn, as slots of a rank's tokens, and what came from ranks in turn, as rows.
        self.sent, self.came = [], []
        for rank in self.each:
            of_rank = [sources[sources // (tokens * TOP_K) == rank] % (tokens * TOP_K) for sources in self.sources]
            self.sent.append(torch.cat(of_rank).to(f"cuda:{rank}"))
            self.came.append((self.sources[rank] // (tokens * TOP_K)).argsort(stable=True).to(f"cuda:{rank}"))
        self.parameters = {"tokens": tokens, "hidden": HIDDEN, "topk": TOP_K, "capacity": self.capacity, "dtype": DTYPE}

    def buffers(self):
        """A row for each slot of a rank's tokens, and one for each that it gets."""
        return ([empty(rank, self.tokens * TOP_K, HIDDEN) for rank in self.each],
                [empty(rank, len(self.sources[rank]), HIDDEN) for rank in self.each])

    def identity(self, kernel, options):
        others = max(sum(row[rank] for other, row in enumerate(self.rows) if other != rank) for rank in self.each)
        return {"kernel": kernel, "ranks": self.ranks, **self.parameters, **dict(options.define),
                "received_bytes": others * HIDDEN * DTYPES[DTYPE].itemsize}


def dispatch_case(library, options, ranks, tokens):
    routes = Routes(ranks, tokens)
    each = routes.each
    x = [normal(rank, tokens, HIDDEN) for rank in each]
    rows = [empty(rank, routes.capacity, HIDDEN) for rank in each]
    ends = [empty(rank, routes.of_rank, dtype=torch.int32) for rank in each]
    place = [torch.empty_like(of_rank) for of_rank in routes.place]
    counts = [empty(rank, EXPERTS, dtype=torch.int32) for rank in each]
    ours, others = programs_of_ranks(library, "moe_dispatch", ranks, {**routes.parameters, "experts": EXPERTS},
                                     list(zip(x, routes.experts, rows, ends, place, counts)), options)
    sent, received = routes.buffers()
    result = [torch.empty_like(of_rank) for of_rank in received]
    inverse = [torch.empty_like(came).scatter_(0, came, torch.arange(len(came), device=came.device)) for came in routes.came]
    gather = on_each([lambda rank=rank: torch.index_select(x[rank], 0, routes.sent[rank] // TOP_K, out=sent[rank]) for rank in each])
    nccl = all_to_all(sent, received, routes.rows)
    arrange = on_each([lambda rank=rank: torch.index_select(received[rank], 0, inverse[rank], out=result[rank]) for rank in each])
    peer = one_after_the_other(gather, nccl, arrange)

    def check():
        for rank in each:
            rows[rank].fill_(math.nan)
        peer()
        ours()
        right = True
        for rank in each:
            count = len(routes.sources[rank])
            own = routes.counts[rank * routes.of_rank:(rank + 1) * routes.of_rank].cumsum(0).int()
            right &= torch.equal(rows[rank][:count], result[rank]) and bool(rows[rank][count:].isnan().all())
            right &= torch.equal(ends[rank][:len(own)].cpu(), own) and torch.equal(place[rank], routes.place[rank])
            right &= torch.equal(counts[rank].cpu(), routes.counts.int())
        return verdict(0.0 if right else math.inf)

    return Case({**routes.identity("moe_dispatch", options), "experts": EXPERTS}, 0, ours, {"gathers, nccl": peer}, check,
                {"nccl_alone": nccl, **others})


def combine_case(library, options, ranks, tokens):
    routes = Routes(ranks, tokens)
    each = routes.each
    rows = [normal(rank, routes.capacity, HIDDEN) for rank in each]
    weights = [torch.rand(tokens, TOP_K, device=f"cuda:{rank}") for rank in each]
    y = [empty(rank, tokens, HIDDEN) for rank in each]
    ours, others = programs_of_ranks(library, "moe_combine", ranks, routes.parameters, list(zip(rows, routes.place, weights, y)),
                                     options)
    back, sent = routes.buffers()
    slots, result = [torch.empty_like(of_rank) for of_rank in back], [empty(rank, tokens, 1, HIDDEN) for rank in each]
    inverse = [torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device)) for order in routes.sent]
    factors = [of_rank.to(DTYPES[DTYPE]).view(tokens, 1, TOP_K) for of_rank in weights]
    gather = on_each([lambda rank=rank: torch.index_select(rows[rank], 0, routes.came[rank], out=sent[rank]) for rank in each])
    nccl = all_to_all(sent, back, [list(of_rank) for of_rank in zip(*routes.rows)])

    def add(rank):
        torch.index_select(back[rank], 0, inverse[rank], out=slots[rank])
        torch.bmm(factors[rank], slots[rank].view(tokens, TOP_K, HIDDEN), out=result[rank])

    peer = one_after_the_other(gather, nccl, on_each([lambda rank=rank: add(rank) for rank in each]))

    def check():
        for rank in each:
            y[rank].fill_(math.nan)
        peer()
        ours()
        worst = 0.0
        for rank in each:
            expected = torch.zeros(tokens, HIDDEN, device=f"cuda:{rank}")
            for slot in range(TOP_K):
                expected += weights[rank][:, slot, None] * slots[rank].view(tokens, TOP_K, HIDDEN)[:, slot].float()
            worst = max(worst, compare(y[rank].float(), expected, 2 * ROUNDING[DTYPE], 1e-4))
            worst = max(worst, compare(result[rank][:, 0].float(), expected, 4 * ROUNDING[DTYPE], 0.05))  # rounded weights
        return verdict(worst)

    return Case(routes.identity("moe_combine", options), 2 * ranks * tokens * TOP_K * HIDDEN, ours, {"gathers, nccl, bmm": peer},
                check, {"nccl_alone": nccl, **others})


def experts_cases(library, options):
    for tokens in TOKENS:
        for ranks in options.ranks:
            for kernel, case in (("moe_dispatch", dispatch_case), ("moe_combine", combine_case)):
                yield (f"{kernel}, {ranks} ranks, {tokens} tokens of each",
                       lambda case=case, ranks=ranks, tokens=tokens: case(library, options, ranks, tokens))
