# SPDX-License-Identifier: Apache-2.0
"""The products of matrices in the cookbook."""

import math
import sys

import torch
import torch.nn.functional as F

from cookbook_kernels import group_extents
from cookbook_problem import BF16, F32, Check, Problem, compiled
from libtlc import Packed

GROUP = 128  # weights or elements with one scale
E2M1 = (0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6)


def of_sums(k):
    """What k additions in f32 round, of terms of the order of 1; tensor cores always downwards."""
    return k * math.sqrt(k) * F32


def _gelu_of_product(a, b, bias, residual):
    return F.gelu(F.linear(a, b, bias)) + residual


def gemm_gelu(make, m, n, k, columns):
    a, b = make.normal(m, k), make.normal(n, k, scale=k**-0.5)
    bias, residual, c = make.normal(n, dtype=torch.float32), make.normal(m, n), make.empty(m, n)
    narrow_bias = bias.bfloat16()
    expression = compiled(_gelu_of_product)

    def checks():
        at = make.some(m)
        expected = F.gelu(a[at].double() @ b.double().t() + bias) + residual[at].double()
        return [Check(lambda: c[at], expected, BF16, 1e-4)]

    return Problem((a, b, bias, residual, c), (c,), checks,
                   {"PyTorch compiled": lambda: expression(a, b, narrow_bias, residual)})


def batched_gemm(make, batch, m, n, k, columns):
    a, b, c = make.normal(batch, m, k), make.normal(batch, k, n), make.empty(batch, m, n)
    other = torch.empty_like(c)

    def checks():
        at = make.some(batch, 4)
        return [Check(lambda: c[at], a[at].double() @ b[at].double(), BF16, of_sums(k))]

    return Problem((a, b, c), (c,), checks, {"torch.bmm": lambda: torch.bmm(a, b, out=other)})


def stream_k_gemm(make, m, n, k, columns):
    a, b, c = make.normal(m, k), make.normal(n, k), make.empty(m, n)
    other = torch.empty_like(c)

    def checks():
        at = make.some(m)
        return [Check(lambda: c[at], a[at].double() @ b.double().t(), BF16, of_sums(k))]

    return Problem((a, b, c), (c,), checks, {"torch.mm": lambda: torch.mm(a, b.t(), out=other)})


def grouped_gemm(make, rows, groups, n, k):
    a, b, c = make.normal(rows, k), make.normal(groups, n, k), make.empty(rows, n)
    ends = torch.cat([make.integers(0, rows + 1, groups - 1).sort()[0].int(), make.integers(rows, rows + 1, 1)])

    def checks():
        at = make.some(rows, 64)
        group = torch.searchsorted(ends, at.int(), right=True)
        return [Check(lambda row=row: c[row], a[row].double() @ b[number].double().t(), BF16, of_sums(k))
                for row, number in zip(at.tolist(), group.tolist())]

    return Problem((a, b, ends, c), (c,), checks,
                   {"torch grouped_mm": lambda: torch._grouped_mm(a, b.transpose(1, 2), offs=ends)})


def pointer_array_gemm(make, groups, m, n, k):
    extents = group_extents(groups, m, n, k)
    a = [make.normal(rows, depth) for rows, _, depth in extents]
    b = [make.normal(columns, depth) for _, columns, depth in extents]
    c = [make.empty(rows, columns) for rows, columns, _ in extents]
    other = [torch.empty_like(each) for each in c]

    def numbers(lists, dtype):
        return torch.tensor(lists, device=make.device, dtype=dtype)

    tables = [numbers([each.data_ptr() for each in tensors], torch.int64) for tensors in (a, b, c)]
    strides = [(depth, depth, columns) for _, columns, depth in extents]

    def checks():
        found = []
        for number, (rows, columns, depth) in enumerate(extents):
            if rows and columns:
                at = make.some(rows, 16)
                found.append(Check(lambda number=number, at=at: c[number][at], a[number][at].double() @ b[number].double().t(),
                                   BF16, of_sums(max(depth, 1))))
        return found

    def one_by_one():
        for left, right, product in zip(a, b, other):
            torch.mm(left, right.t(), out=product)

    return Problem((*tables, numbers(extents, torch.int32), numbers(strides, torch.int32)), tuple(c), checks,
                   {"torch.mm in a loop": one_by_one})


def _codes(packed):
    return torch.stack([packed & 15, packed >> 4], -1).flatten(-2).long()


def w4a16_gemm(make, m, n, groups, tokens, splits):
    k = groups * GROUP
    a, c = make.normal(m, groups, GROUP), make.empty(m, n)
    codes = make.integers(0, 256, n, groups, GROUP // 2, dtype=torch.uint8)
    scale, zero = make.uniform(0.01, 0.02, n, groups).bfloat16(), make.uniform(6, 9, n, groups).bfloat16()
    exact = (_codes(codes) - zero.float()[..., None]) * scale.float()[..., None]
    wide, flat, other = exact.bfloat16().view(n, k), a.view(m, k), torch.empty_like(c)

    def checks():
        at = make.some(n)
        # Weights are rounded to bf16, which of k terms of the order of 0.06 leaves this.
        return [Check(lambda: c[:, at], flat.double() @ exact[at].double().view(len(at), k).t(), BF16, 0.001 * math.sqrt(k))]

    def int4pack():
        packed = torch.ops.aten._convert_weight_to_int4pack(codes.view(n, k // 2), 8)
        factors = torch.stack([scale, (8 - zero.float()).bfloat16() * scale], -1).transpose(0, 1).contiguous()
        return lambda: torch.ops.aten._weight_int4pack_mm(flat, packed, GROUP, factors)

    peers = {"torch.mm on bf16": lambda: torch.mm(flat, wide.t(), out=other)}
    try:
        peers["int4pack_mm"] = int4pack()
    except (AttributeError, RuntimeError):
        pass  # this PyTorch has none, or it does not take these extents
    return Problem((a, codes.view(torch.uint32), scale, zero, c), (c,), checks, peers)


def mxfp4_gemm(make, m, n, groups, columns):
    size = 32  # weights with one exponent
    k = groups * size
    a, c = make.normal(m, k), make.empty(m, n)
    codes, exponents = make.integers(0, 256, n, groups, size // 2, dtype=torch.uint8), make.integers(120, 126, n, groups)
    wide = torch.tensor(E2M1, device=a.device)[_codes(codes)] * (exponents.float() - 127).exp2()[..., None]
    wide, other = wide.bfloat16().view(n, k), torch.empty_like(c)

    def checks():
        at = make.some(n)
        return [Check(lambda: c[:, at], a.double() @ wide[at].double().t(), BF16, of_sums(k) / 8)]

    return Problem((a, Packed(codes, Packed.E2M1), exponents.to(torch.uint8), c), (c,), checks,
                   {"torch.mm on bf16": lambda: torch.mm(a, wide.t(), out=other)})


def fp8_block_gemm(make, m, n, groups):
    k = groups * GROUP
    panels = -(-n // GROUP)
    a = make.normal(m, groups, GROUP, dtype=torch.float8_e4m3fn)
    b = make.normal(n, groups, GROUP, dtype=torch.float8_e4m3fn)
    scale_a, scale_b, c = make.uniform(0.5, 2, m, groups), make.uniform(0.5, 2, panels, groups), make.empty(m, n)
    flat_a, flat_b = a.view(m, k), b.view(n, k)

    def checks():
        at = make.some(m)
        rows = a.view(torch.uint8)[at].view(a.dtype).double() * scale_a[at].double()[..., None]
        columns = b.double() * scale_b.double().repeat_interleave(GROUP, 0)[:n, :, None]
        # A product of e4m3 keeps 13 fractional bits of its largest term.
        return [Check(lambda: c[at], rows.view(len(at), k) @ columns.view(n, k).t(), BF16, 0.002 * math.sqrt(k))]

    down = scale_a.t().contiguous().t()  # the layout that cuBLAS wants
    ones = torch.ones(m, 1, device=a.device), torch.ones(1, n, device=a.device)
    return Problem((a, b, scale_a, scale_b, c), (c,), checks, {
        "torch._scaled_mm": lambda: torch._scaled_mm(flat_a, flat_b.t(), down, scale_b.t(), out_dtype=torch.bfloat16)}, {
        "torch._scaled_mm by rows": lambda: torch._scaled_mm(flat_a, flat_b.t(), *ones, out_dtype=torch.bfloat16)})


def _scaled_int_mm(a, b, scale_a, scale_b):
    return (torch._int_mm(a, b.t()).float() * scale_a[:, None] * scale_b).bfloat16()


def w8a8_gemm(make, m, n, k):
    a, b = make.integers(-128, 128, m, k, dtype=torch.int8), make.integers(-128, 128, n, k, dtype=torch.int8)
    scale_a, scale_b, c = make.uniform(0.5, 2, m), make.uniform(0.5, 2, n), make.empty(m, n)
    expression = compiled(_scaled_int_mm)

    def checks():
        at = make.some(m)
        sums = a[at].double() @ b.double().t()  # exact
        return [Check(lambda: c[at], sums * scale_a[at].double()[:, None] * scale_b.double(), BF16, 1e-30)]

    return Problem((a, b, scale_a, scale_b, c), (c,), checks,
                   {"torch._int_mm and PyTorch compiled": lambda: expression(a, b, scale_a, scale_b)})


def sparse_gemm(make, m, n, steps, **_):
    k = steps * 128
    # Of each four neighbours the two with the largest magnitudes are kept, in their order.
    groups = make.normal(m, k // 4, 4)
    places = groups.abs().topk(2, -1).indices.sort(-1).values
    a = groups.gather(-1, places).reshape(m, k // 2)
    pairs = (places[..., 0] | places[..., 1] << 2).view(m, k // 8, 2)
    metadata = (pairs[..., 0] | pairs[..., 1] << 4).to(torch.uint8)
    dense = torch.zeros_like(groups).scatter_(-1, places, a.view(m, k // 4, 2)).view(m, k)
    b, c, other = make.normal(n, k), make.empty(m, n), make.empty(m, n)

    def checks():
        at = make.some(n)
        return [Check(lambda: c[:, at], dense.double() @ b[at].double().t(), BF16, of_sums(k) / 8)]

    peers = {"torch.mm": lambda: torch.mm(dense, b.t(), out=other)}
    try:
        from torch.sparse import to_sparse_semi_structured
        structured = to_sparse_semi_structured(dense)
        torch.mm(structured, b.t())
        peers["torch.sparse semi-structured"] = lambda: torch.mm(structured, b.t())
    except (ImportError, AttributeError, RuntimeError) as error:
        print(f"no sparse product of PyTorch: {error}", file=sys.stderr)
    return Problem((a.view(m, steps, 64), metadata.view(m, steps, 16), b.view(n, steps, 128), c), (c,), checks, peers)


def fused_moe(make, tokens, d, f, experts, count):
    x, logits = make.normal(tokens, d), make.normal(tokens, experts, dtype=torch.float32)
    gate_up, down = make.normal(experts, 2, f, d, scale=d**-0.5), make.normal(experts, 1, d, f, scale=f**-0.5)
    y = make.empty(tokens, d)
    numbers = torch.arange(experts, device=x.device)

    def mixture():
        largest, expert = logits.topk(count, 1)
        weights = largest.softmax(1)
        by_expert, order = expert.flatten().sort()
        ends = torch.searchsorted(by_expert, numbers, right=True).int()
        hidden = torch._grouped_mm(x[order // count], gate_up.view(experts, 2 * f, d).transpose(1, 2), offs=ends)
        hidden = F.silu(hidden[:, :f]) * hidden[:, f:]
        results = torch.empty(tokens * count, d, device=x.device, dtype=x.dtype)
        results[order] = torch._grouped_mm(hidden, down.view(experts, d, f).transpose(1, 2), offs=ends)
        return (results.view(tokens, count, d) * weights[..., None]).sum(1)

    def checks():
        found = []
        for token in make.some(tokens, 16).tolist():
            largest, expert = logits[token].topk(count)
            products = gate_up[expert].double() @ x[token].double()
            hidden = F.silu(products[:, 0]) * products[:, 1]
            results = (down[expert, 0].double() @ hidden[..., None])[..., 0]
            expected = largest.double().softmax(0) @ results
            # The activation and each expert's result are rounded to bf16.
            found.append(Check(lambda token=token: y[token], expected, 2 * BF16, 0.02 * expected.square().mean().sqrt()))
        return found

    return Problem((x, logits, gate_up, down, y), (y,), checks, {"torch.topk, grouped_mm": mixture})


def convolution(make, images, height, width, channels, filters, stride, columns):
    x, w = make.normal(images, height, width, channels), make.normal(filters, 3, 3, channels)
    rows, across = -(-height // stride), -(-width // stride)
    y = make.empty(images * rows * across, filters)
    planes, taps = (tensor.permute(0, 3, 1, 2) for tensor in (x, w))

    def checks():
        at = make.some(images, 2)
        expected = F.conv2d(planes[at].double().contiguous(), taps.double().contiguous(), stride=stride, padding=1)
        return [Check(lambda: y.view(images, rows * across, filters)[at], expected.permute(0, 2, 3, 1).flatten(1, 2), BF16,
                      of_sums(9 * channels))]

    def cudnn():
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            return F.conv2d(planes, taps, stride=stride, padding=1)

    return Problem((x, w, y), (y,), checks, {"cuDNN": cudnn})
