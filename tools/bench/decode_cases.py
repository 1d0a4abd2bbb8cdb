# SPDX-License-Identifier: Apache-2.0
"""Decoding against a copy of as many bytes, cuDNN and FlashAttention."""

import math

import torch

from measure import Case, DTYPES, ROUNDING, compare, programs

DECODE_SHAPES = [  # b, s, h, hkv
    (64, 8192, 64, 8),
    (16, 8192, 64, 8),
    (64, 1024, 64, 8),
    (1, 131072, 64, 8),
]


def decode_case(library, options, b, s, h, hkv):
    """One query for each of b sequences of s keys, in a cache b x s x hkv x d or in pages in random order; V may be a
    part of K, as latent attention has it."""
    dtype, d, group, define = DTYPES[options.dtype], options.d, h // hkv, dict(options.define)
    dv = int(define.get("dv", min(d, 512)))
    q = torch.randn(b, 1, hkv, group, d, device="cuda", dtype=torch.float32).to(dtype)
    k = torch.randn(b, s, hkv, d, device="cuda", dtype=dtype)
    in_keys = define.get("values") == "keys"
    v = k[..., :dv] if in_keys else torch.randn(b, s, hkv, dv, device="cuda", dtype=dtype)
    lengths = torch.full((b,), s, device="cuda", dtype=torch.int32)
    o = torch.empty(b, 1, hkv, group, dv, device="cuda", dtype=dtype)
    lse = torch.empty(b, hkv, group, 1, device="cuda", dtype=torch.float32)
    parameters = {"b": b, "sk": s, "h": h, "hkv": hkv, "d": d, "dtype": options.dtype}
    cache = [k] if in_keys else [k, v]
    table = []
    if define.get("kv") == "paged":
        page = int(define.get("page", 64))
        assert s % page == 0
        order = torch.randperm(b * s // page, device="cuda")
        table = [order.to(torch.int32).view(b, -1)]
        for i, tensor in enumerate(cache):
            paged = torch.empty(b * s // page, page, hkv, tensor.shape[-1], device="cuda", dtype=dtype)
            paged[order] = tensor.view_as(paged)
            cache[i] = paged
    ours, others = programs(library, "attention_decode", parameters, (q, *cache, lengths, *table, o, lse), options)
    elements = sum(tensor.numel() for tensor in cache)
    source = torch.empty(elements // 2, device="cuda", dtype=dtype)  # a copy reads it and writes as much
    target = torch.empty_like(source)
    heads_first = q.view(b, 1, hkv * group, d).transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def attention(backend):
        def launch():
            with torch.nn.attention.sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(*heads_first, enable_gqa=group != 1)
        return launch

    peers = {"copy": lambda: target.copy_(source)}
    for name in ("cudnn", "flash"):
        launch = attention(getattr(torch.nn.attention.SDPBackend, f"{name.upper()}_ATTENTION"))
        try:
            launch()
            peers[name] = launch
        except RuntimeError:
            pass  # it does not take these shapes

    def check():
        o.fill_(math.nan)
        lse.fill_(math.nan)
        ours()
        rounding, worst = ROUNDING[options.dtype], 0.0
        for batch, head in {(0, 0), (b // 2, hkv // 2), (b - 1, hkv - 1)}:
            scores = q[batch, 0, head].double() @ k[batch, :, head].double().t() / math.sqrt(d)
            expected = scores.softmax(-1) @ v[batch, :, head].double()
            # Weights are rounded before they meet v.
            worst = max(worst, compare(o[batch, 0, head], expected, 2 * rounding, 2 * rounding),
                        compare(lse[batch, head, :, 0], scores.logsumexp(-1), 1e-5, 1e-5))
        finite = bool(o.isfinite().all() and lse.isfinite().all())
        return {"largest_error": worst, "limit": 1.0, "correct": finite and worst <= 1.0}

    return Case({"kernel": "attention_decode", **parameters, **define, "bytes": elements * k.element_size()},
                2 * b * h * s * (d + dv), ours, peers, check, others)


def decode_cases(library, options):
    for shape in options.shape or DECODE_SHAPES:
        yield decode_case(library, options, *shape)
