# SPDX-License-Identifier: Apache-2.0
"""PyTorch's products that are fused with collectives, on symmetric memory. They need a process for each rank."""

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory  # which has the operations

# m, n, k of the product that is split over ranks, as in rank_cases.py.
FUSED_SHAPES = [(8192, 8192, 8192), (16384, 7168, 4096)]


def fused(ranks, dtype):
    """Our kernel, its parameters, the shapes of its tensors, and what makes PyTorch's operation of the first two."""
    group = dist.group.WORLD.group_name

    def all_gather_matmul(a, b):
        # What it gathers is a result, too.
        return lambda: torch.ops.symm_mem.fused_all_gather_matmul(a, [b.t()], gather_dim=0, group_name=group)[1][0]

    def matmul_reduce_scatter(a, b):
        rows = a.view(-1, a.shape[-1])
        return lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(rows, b.t(), "sum", scatter_dim=0, group_name=group)

    for m, n, k in FUSED_SHAPES:
        own = m // ranks, n // ranks, k
        yield ("all_gather_gemm", dict(zip("mnk", own), dtype=dtype, out=dtype),
               [(own[0], own[2]), (own[1], own[2]), (ranks, own[0], own[1])], all_gather_matmul)
        own = m // ranks, n, k // ranks
        yield ("gemm_reduce_scatter", dict(zip("mnk", own), dtype=dtype, out=dtype),
               [(ranks, own[0], own[2]), (own[1], own[2]), (own[0], own[1])], matmul_reduce_scatter)
