# SPDX-License-Identifier: Apache-2.0
"""A GEMM in Triton with mma.sync, as it is compiled for a machine without wgmma: a peer of ours for such targets."""

import os

os.environ["DISABLE_MMA_V3"] = "1"  # before Triton compiles anything

import torch
import triton
import triton.language as tl


def configurations():
    tiles = [(128, 256, 64, 3, 8), (128, 256, 32, 4, 8), (256, 128, 64, 3, 8), (128, 128, 64, 3, 4), (128, 128, 64, 4, 8),
             (128, 128, 32, 4, 4), (128, 128, 32, 5, 8), (64, 256, 32, 4, 4), (64, 128, 64, 4, 4), (128, 64, 64, 4, 4)]
    return [triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}, num_stages=stages, num_warps=warps)
            for bm, bn, bk, stages, warps in tiles]


@triton.autotune(configs=configurations(), key=["m", "n", "k", "bn_stride"])
@triton.jit
def product(a, b, c, m, n, k, am_stride, bk_stride, bn_stride, cm_stride,
            BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    # Tiles that follow each other share rows of A: GROUP rows of tiles at a time.
    tile = tl.program_id(0)
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    first = tile // (GROUP * columns) * GROUP
    height = tl.minimum(rows - first, GROUP)
    within = tile % (GROUP * columns)
    i = (first + within % height) * BM + tl.arange(0, BM)
    j = within // height * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_tile = a + (i % m)[:, None] * am_stride + depth[None, :]
    b_tile = b + depth[:, None] * bk_stride + (j % n)[None, :] * bn_stride
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, k, BK):
        left = tl.load(a_tile, mask=depth[None, :] < k - begin, other=0.0)
        right = tl.load(b_tile, mask=depth[:, None] < k - begin, other=0.0)
        total = tl.dot(left, right, total)
        a_tile += BK
        b_tile += BK * bk_stride
    inside = (i[:, None] < m) & (j[None, :] < n)
    tl.store(c + i[:, None] * cm_stride + j[None, :], total.to(c.dtype.element_ty), mask=inside)


def triton_gemm(a, factor, c):
    """A function that computes c = a · factor; the fastest configuration is chosen now."""
    (m, k), n = a.shape, factor.shape[1]

    def launch():
        return product[lambda choice: (triton.cdiv(m, choice["BM"]) * triton.cdiv(n, choice["BN"]),)](
            a, factor, c, m, n, k, a.stride(0), factor.stride(0), factor.stride(1), c.stride(0))

    compiled = launch()
    if "wgmma" in compiled.asm["ptx"]:
        raise RuntimeError("expected Triton to do without wgmma")
    torch.cuda.synchronize()
    return launch
