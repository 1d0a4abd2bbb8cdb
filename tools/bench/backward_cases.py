# SPDX-License-Identifier: Apache-2.0
"""Attention backward against cuDNN, each from the O and LSE of its own forward."""

import math

import torch

from attention_cases import ATTENTION_SHAPES
from measure import Case, DTYPES, ROUNDING, compare, programs


def expected_gradients(q, k, v, d_o, causal):
    """Gradients of one head in double precision, from its rows alone."""
    q, k, v, d_o = (tensor.double() for tensor in (q, k, v, d_o))
    scale = q.shape[-1] ** -0.5
    scores = q @ k.t() * scale
    if causal:
        scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    weights = scores.softmax(-1)
    of_scores = weights * (d_o @ v.t() - (d_o * (weights @ v)).sum(-1, keepdim=True)) * scale
    return of_scores @ k, of_scores.t() @ q, weights.t() @ d_o


def backward_case(library, options, b, s, h, hkv, causal):
    """q and k of the same length, tensors b x s x h x d; all launches of the backward, none of the forward."""
    dtype, d = DTYPES[options.dtype], options.d
    q, k, v, d_o = (torch.randn(b, s, heads, d, device="cuda", dtype=torch.float32).to(dtype)
                    for heads in (h, hkv, hkv, h))
    o, lse = torch.empty_like(q), torch.empty(b, h, s, device="cuda", dtype=torch.float32)
    parameters = {"b": b, "sq": s, "sk": s, "h": h, "hkv": hkv, "d": d, "dtype": options.dtype,
                  "causal": "right" if causal else "none"}
    library.compile("attention_fwd", **parameters).bind(q, k, v, o, lse)()
    gradients = [torch.empty_like(tensor) for tensor in (q, k, v)]
    ours, others = programs(library, "attention_bwd", parameters, (q, k, v, o, d_o, lse, *gradients), options)

    leaves = [tensor.detach().transpose(1, 2).requires_grad_() for tensor in (q, k, v)]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
        of_peer = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=h != hkv)

    def cudnn():
        return torch.autograd.grad(of_peer, leaves, d_o.transpose(1, 2), retain_graph=True)

    peers = {"cudnn": cudnn}
    for module in options.peer:
        # A launch that computes the gradients on tensors of its own, or None. O and LSE are of our forward.
        launch = module.attention_bwd(d_o, q, k, v, o, lse, causal)
        if launch:
            peers[module.__name__] = launch

    def check():
        for tensor in gradients:
            tensor.fill_(math.nan)
        ours()
        worst = 0.0
        rounding = ROUNDING[options.dtype]
        # Weights and gradients of scores are rounded before products of many terms: the allowed error is of the
        # largest gradient of the head.
        for own, peer in zip(gradients, cudnn()):
            largest = peer.abs().amax().item()
            worst = max(worst, compare(own, peer.transpose(1, 2).float(), 4 * rounding, 4 * rounding * largest))
        if h == hkv and s <= 4096:
            for batch, head in {(0, 0), (b - 1, h - 1)}:
                expected = expected_gradients(*(tensor[batch, :, head] for tensor in (q, k, v, d_o)), causal)
                for own, exact in zip(gradients, expected):
                    worst = max(worst, compare(own[batch, :, head], exact, 4 * rounding,
                                               2 * rounding * exact.abs().amax().item()))
        return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}

    return Case({"kernel": "attention_bwd", **parameters, **dict(options.define)},
                10 * b * h * s * s * d // (2 if causal else 1), ours, peers, check, others)


def backward_cases(library, options):
    for causal in (False, True) if options.causal is None else (options.causal == "yes",):
        for shape in options.shape or ATTENTION_SHAPES:
            yield backward_case(library, options, *shape, causal)
