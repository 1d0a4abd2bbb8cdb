# SPDX-License-Identifier: Apache-2.0
"""Attention forward on e4m3 with factors of heads, against cuDNN's on the same numbers in bf16."""

import math

import torch

from measure import Case, programs

FP8_SHAPES = [(2, 8192, 16, 16), (1, 16384, 16, 16)]  # b, s, h, hkv


def fp8_case(library, options, b, s, h, hkv):
    """Forward, q and k of the same length, tensors b x s x h x d; --mean is that of V."""
    d = options.d

    def rows(heads, mean=0.0):
        return (torch.randn(b, s, heads, d, device="cuda") + mean).to(torch.float8_e4m3fn)

    q, k, v = rows(h), rows(hkv), rows(hkv, options.mean)
    factors = [torch.rand(b, heads, device="cuda") * 0.5 + 0.75 for heads in (h, hkv, hkv)]
    o = torch.empty(b, s, h, d, device="cuda", dtype=torch.bfloat16)
    lse = torch.empty(b, h, s, device="cuda", dtype=torch.float32)
    parameters = {"b": b, "sq": s, "sk": s, "h": h, "hkv": hkv, "d": d}
    ours, others = programs(library, "attention_fwd_fp8", parameters, (q, k, v, *factors, o, lse), options)

    heads_first = [(x.float() * factor[:, None, :, None]).bfloat16().transpose(1, 2)
                   for x, factor in zip((q, k, v), factors)]

    def cudnn():
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(*heads_first, enable_gqa=h != hkv)

    # Of O, relative to its norm: weights are rounded to e4m3. In the product sums keep 13 bits.
    limit = 0.04 + (s * 2.0**-16 if dict(options.define).get("sums") == "fast" else 0)

    def check():
        o.fill_(math.nan)
        lse.fill_(math.nan)
        ours()
        worst_o = worst_lse = 0.0
        for head in {0, h - 1}:
            kv = head * hkv // h
            exact = [x[b - 1, :, n].double() * factor[b - 1, n].double()
                     for x, factor, n in zip((q, k, v), factors, (head, kv, kv))]
            scores = exact[0][-96:] @ exact[1].t() / math.sqrt(d)
            expected = scores.softmax(-1) @ exact[2]
            difference = (o[b - 1, -96:, head].double() - expected).norm() / expected.norm()
            worst_o = max(worst_o, difference.nan_to_num(math.inf).item())
            difference = (lse[b - 1, head, -96:].double() - scores.logsumexp(-1)).abs().max()
            worst_lse = max(worst_lse, difference.nan_to_num(math.inf).item())
        finite = bool(o.isfinite().all() and lse.isfinite().all())
        return {"largest_error": worst_o, "limit": limit, "lse_error": worst_lse,
                "correct": finite and worst_o <= limit and worst_lse <= 0.01}

    return Case({"kernel": "attention_fwd_fp8", **parameters, **dict(options.define), "mean": options.mean},
                4 * b * h * s * s * d, ours, {"cudnn_bf16": cudnn}, check, others)


def fp8_cases(library, options):
    for shape in options.shape or FP8_SHAPES:
        yield fp8_case(library, options, *shape)
