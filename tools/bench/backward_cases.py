# SPDX-License-Identifier: Apache-2.0
"""Attention backward against PyTorch's, each from the O and LSE of its own forward."""

import math

import torch

from attention_cases import attention_shapes, backends_of, parameters_of, sdpa, visible_keys
from measure import Case, DTYPES, ROUNDING, compare, programs, those_that_run
from shapes import model_backward, random_backward


def expected_gradients(q, k, v, d_o, visible):
    """Gradients of one head of keys in double precision, from the rows alone of all heads of queries that share it."""
    k, v = k.double(), v.double()
    scale = q.shape[-1] ** -0.5
    d_q, d_k, d_v = [], torch.zeros_like(k), torch.zeros_like(v)
    for head in range(q.shape[1]):
        own, of_o = q[:, head].double(), d_o[:, head].double()
        scores = (own @ k.t() * scale).masked_fill(~visible, -math.inf)
        weights = scores.softmax(-1).nan_to_num(0.0)  # of rows that see nothing
        of_scores = weights * (of_o @ v.t() - (of_o * (weights @ v)).sum(-1, keepdim=True)) * scale
        d_q.append(of_scores @ k)
        d_k += of_scores.t() @ own
        d_v += weights.t() @ of_o
    return torch.stack(d_q, 1), d_k, d_v


class Ours:
    """Our forward and backward with one alignment of causal attention, on tensors of their own."""

    def __init__(self, library, options, shape, alignment, q, k, v, d_o):
        parameters = parameters_of(shape, options, alignment)
        self.alignment = alignment
        self.o = torch.empty_like(q)
        self.lse = torch.empty(shape.b, shape.h, shape.sq, device="cuda", dtype=torch.float32)
        library.compile("attention_fwd", **parameters).bind(q, k, v, self.o, self.lse)()
        self.gradients = [torch.empty_like(tensor) for tensor in (q, k, v)]
        self.launch, self.others = programs(library, "attention_bwd", parameters,
                                            (q, k, v, self.o, d_o, self.lse, *self.gradients), options)


def backward_case(library, options, shape):
    """Tensors b x s x h x d; all launches of the backward, none of the forward. Alignments as in attention_case."""
    dtype, b, sq, sk, h, hkv, d = DTYPES[options.dtype], shape.b, shape.sq, shape.sk, shape.h, shape.hkv, shape.d
    q, k, v, d_o = (torch.randn(b, s, heads, d, device="cuda", dtype=torch.float32).to(dtype)
                    for s, heads in ((sq, h), (sk, hkv), (sk, hkv), (sq, h)))
    is_skewed = shape.causal and sq != sk
    left = Ours(library, options, shape, "left", q, k, v, d_o)
    right = Ours(library, options, shape, "right", q, k, v, d_o) if is_skewed else left

    leaves = [tensor.detach().transpose(1, 2).requires_grad_() for tensor in (q, k, v)]
    forwards, without = those_that_run({name: sdpa(backend, *leaves, shape.causal)
                                        for name, backend in backends_of(options).items()})

    def gradients_of(forward):
        of_peer = forward()
        return lambda: torch.autograd.grad(of_peer, leaves, d_o.transpose(1, 2), retain_graph=True)

    of_pytorch, failing = those_that_run({name: gradients_of(forward) for name, forward in forwards.items()})
    without.update(failing)
    further = {}
    for module in options.peer:
        # A launch that computes the gradients on tensors of its own, or None. O and LSE are of our forward.
        launch = module.attention_bwd(d_o, q, k, v, right.o, right.lse, shape.causal)
        if launch:
            further[module.__name__] = launch
    further, failing = those_that_run(further)
    without.update(failing)

    def check():
        worst = 0.0
        rounding = ROUNDING[options.dtype]
        for ours in [left, right] if is_skewed else [left]:
            for tensor in ours.gradients:
                tensor.fill_(math.nan)
            ours.launch()
            # Weights and gradients of scores are rounded before products of many terms: the allowed error is of the
            # largest gradient of the head.
            if ours is left and of_pytorch:
                for own, peer in zip(ours.gradients, next(iter(of_pytorch.values()))()):
                    largest = peer.abs().amax().item()
                    worst = max(worst, compare(own, peer.transpose(1, 2).float(), 4 * rounding, 4 * rounding * largest))
            if sq * sk <= 4096 * 4096:
                visible = visible_keys(shape, torch.arange(sq, device="cuda"), ours.alignment)
                for batch, kv in {(0, 0), (b - 1, hkv - 1)}:
                    heads = slice(kv * (h // hkv), (kv + 1) * (h // hkv))
                    expected = expected_gradients(q[batch, :, heads], k[batch, :, kv], v[batch, :, kv],
                                                  d_o[batch, :, heads], visible)
                    for own, exact, which in zip(ours.gradients, expected, (heads, kv, kv)):
                        worst = max(worst, compare(own[batch, :, which], exact, 4 * rounding,
                                                   2 * rounding * exact.abs().amax().item()))
        return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}

    identity = {"kernel": "attention_bwd", **({"name": shape.name} if shape.name else {}),
                **parameters_of(shape, options, "left"), **dict(options.define), **({"without": without} if without else {})}
    beside = {name: right.launch for name in further} if is_skewed else {}
    return Case(identity, 10 * b * h * shape.pairs("left") * d, left.launch, {**of_pytorch, **further}, check,
                left.others, beside)


def backward_cases(library, options):
    for shape in attention_shapes(options, random_backward, model_backward):
        yield backward_case(library, options, shape)
