# SPDX-License-Identifier: Apache-2.0
"""Attention backward against PyTorch's, each from the O and LSE of its own forward."""

import math

import torch
import torch._functorch.config as functorch

from attention_cases import (BLOCK_CAUSAL_SHAPES, VARLEN_SHAPES, attention_shapes, backends_of, block_causal_rule,
                             empty_results, even_length, normal, parameters_of, random_lengths, sdpa, varlen_mask,
                             visible_keys)
from measure import Case, ROUNDING, compare, programs, those_that_run
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
    """Our forward, launched once, and our backward, on tensors of their own."""

    def __init__(self, library, options, parameters, of_lse, q, k, v, d_o, lengths=()):
        self.parameters = parameters
        self.o, self.lse = empty_results(q, v, *of_lse)
        library.compile("attention_fwd", **parameters).bind(q, k, v, *lengths, self.o, self.lse)()
        self.gradients = [torch.empty_like(tensor) for tensor in (q, k, v)]
        self.launch, self.others = programs(library, "attention_bwd", parameters,
                                            (q, k, v, *lengths, self.o, d_o, self.lse, *self.gradients), options)

    def run(self):
        for tensor in self.gradients:
            tensor.fill_(math.nan)
        self.launch()

    def error_to_peer(self, options, of_peer):
        """Weights and gradients of scores are rounded before products of many terms: the allowed error is of the
        largest gradient."""
        rounding = 4 * ROUNDING[options.dtype]
        return max(compare(own, peer.float(), rounding, rounding * peer.abs().amax().item())
                   for own, peer in zip(self.gradients, of_peer))

    def error_to_exact(self, options, places, exact):
        """Of the rows at a place of dQ, dK and dV each."""
        rounding = 2 * ROUNDING[options.dtype]
        return max(compare(own[place], gradient, 2 * rounding, rounding * gradient.abs().amax().item())
                   for own, place, gradient in zip(self.gradients, places, exact))


def gradients_by_autograd(forward, leaves, d_o):
    """A launch of the backward of a forward that has run."""
    of_peer = forward()
    return lambda: torch.autograd.grad(of_peer, leaves, d_o, retain_graph=True)


def backward_case(library, options, shape):
    """Tensors b x s x h x d; all launches of the backward, none of the forward. Alignments as in attention_case."""
    b, sq, sk, h, hkv, d, dv = shape.b, shape.sq, shape.sk, shape.h, shape.hkv, shape.d, shape.dv
    q, k, v, d_o = normal(options, (b, sq, h, d), (b, sk, hkv, d), (b, sk, hkv, dv), (b, sq, h, dv))
    of_alignment = {alignment: Ours(library, options, parameters_of(shape, options, alignment), (b, h, sq), q, k, v, d_o)
                    for alignment in (("left", "right") if shape.causal and sq != sk else ("left",))}
    left, right = of_alignment["left"], of_alignment.get("right", of_alignment["left"])

    leaves = [tensor.detach().transpose(1, 2).requires_grad_() for tensor in (q, k, v)]
    forwards, without = those_that_run({name: sdpa(backend, *leaves, shape.causal)
                                        for name, backend in backends_of(options).items()})
    of_pytorch, failing = those_that_run({name: gradients_by_autograd(forward, leaves, d_o.transpose(1, 2))
                                          for name, forward in forwards.items()})
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
        worst = -math.inf  # where there is nothing to compare with, that is not right
        for alignment, ours in of_alignment.items():
            ours.run()
            if ours is left and of_pytorch:
                peer = next(iter(of_pytorch.values()))()
                worst = max(worst, ours.error_to_peer(options, [tensor.transpose(1, 2) for tensor in peer]))
            if sq * sk <= 4096 * 4096:
                visible = visible_keys(shape, torch.arange(sq, device="cuda"), alignment)
                for batch, kv in {(0, 0), (b - 1, hkv - 1)}:
                    heads = slice(kv * (h // hkv), (kv + 1) * (h // hkv))
                    expected = expected_gradients(q[batch, :, heads], k[batch, :, kv], v[batch, :, kv],
                                                  d_o[batch, :, heads], visible)
                    places = [(batch, slice(None), which) for which in (heads, kv, kv)]
                    worst = max(worst, ours.error_to_exact(options, places, expected))
        return {"largest_error": worst, "limit": 1.0, "correct": 0.0 <= worst <= 1.0}

    identity = {"kernel": "attention_bwd", **({"name": shape.name} if shape.name else {}),
                **left.parameters, **dict(options.define), **({"without": without} if without else {})}
    beside = {name: right.launch for name in further} if right is not left else {}
    return Case(identity, b * h * shape.pairs("left") * (6 * d + 4 * dv), left.launch, {**of_pytorch, **further}, check,
                left.others, beside)


def backward_cases(library, options):
    for shape in attention_shapes(options, random_backward, model_backward):
        yield backward_case(library, options, shape)


def block_causal_backward_case(library, options, b, s, h, hkv, block=32):
    """As block_causal_case, from the tensors of its own forward; beside our causal program of the same tensors. `pairs`
    are those of one head, of both."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    functorch.donated_buffer = False  # one forward serves many backwards
    d, half = options.d, s // 2
    q, k, v, d_o = normal(options, (b, s, h, d), (b, s, hkv, d), (b, s, hkv, d), (b, s, h, d))
    parameters = {"b": b, "sq": s, "sk": s, "h": h, "hkv": hkv, "d": d, "dtype": options.dtype,
                  "mask": "block_causal", "block": block}
    ours = Ours(library, options, parameters, (b, h, s), q, k, v, d_o)
    causal = Ours(library, options, {**parameters, "mask": "none", "causal": "right"}, (b, h, s), q, k, v, d_o)
    pairs = half * half + half * block

    sees = block_causal_rule(half, block)
    mask = create_block_mask(sees, None, None, s, s, device="cuda", _compile=True)
    compiled = torch.compile(flex_attention)
    leaves = [tensor.transpose(1, 2).contiguous().requires_grad_() for tensor in (q, k, v)]
    flex = gradients_by_autograd(lambda: compiled(*leaves, block_mask=mask, enable_gqa=h != hkv), leaves,
                                 d_o.transpose(1, 2).contiguous())

    def check():
        ours.run()
        worst = ours.error_to_peer(options, [tensor.transpose(1, 2) for tensor in flex()])
        rows = torch.arange(s, device="cuda")
        visible = sees(0, 0, rows[:, None], rows[None, :])
        batch, kv = b - 1, hkv - 1
        heads = slice(kv * (h // hkv), h)
        expected = expected_gradients(q[batch, :, heads], k[batch, :, kv], v[batch, :, kv], d_o[batch, :, heads], visible)
        places = [(batch, slice(None), which) for which in (heads, kv, kv)]
        worst = max(worst, ours.error_to_exact(options, places, expected))
        return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}

    identity = {"kernel": "attention_bwd", **parameters, **dict(options.define),
                "pairs": {"block_causal": pairs, "causal": s * (s + 1) // 2}}
    return Case(identity, 10 * b * h * pairs * d, ours.launch, {"flex": flex}, check,
                {**ours.others, "causal": causal.launch})


def block_causal_backward_cases(library, options):
    for shape in options.shape or BLOCK_CAUSAL_SHAPES:
        yield block_causal_backward_case(library, options, *shape)


def varlen_backward_case(library, options, b, longest, h, hkv, causal):
    """As varlen_case. The peer has as many heads of keys as of queries, and does not add up what belongs to one."""
    from torch.nn.attention.varlen import varlen_attn

    d = options.d
    lengths, begins = random_lengths(b, longest)
    total = sum(lengths)
    q, k, v, d_o = normal(options, (total, h, d), (total, hkv, d), (total, hkv, d), (total, h, d))
    parameters = {"varlen": ",".join(map(str, lengths)), "h": h, "hkv": hkv, "d": d, "dtype": options.dtype,
                  "causal": "right" if causal else "none"}
    ours = Ours(library, options, parameters, (h, total), q, k, v, d_o, (begins, begins))
    even = even_length(lengths)
    fixed = Ours(library, options, {**parameters, "varlen": "none", "b": b, "sq": even, "sk": even}, (b, h, even),
                 *normal(options, (b, even, h, d), (b, even, hkv, d), (b, even, hkv, d), (b, even, h, d)))
    leaves = [tensor.repeat_interleave(h // tensor.shape[1], 1).requires_grad_() for tensor in (q, k, v)]
    flash = gradients_by_autograd(lambda: varlen_attn(*leaves, begins, begins, max(lengths), max(lengths),
                                                      **varlen_mask(varlen_attn, causal)), leaves, d_o)

    def check():
        ours.run()
        of_peer = [gradient.float().unflatten(1, (own.shape[1], -1)).sum(2)
                   for gradient, own in zip(flash(), ours.gradients)]
        worst = ours.error_to_peer(options, of_peer)
        for sequence, kv in {(0, 0), (b - 1, hkv - 1)}:
            rows = slice(int(begins[sequence]), int(begins[sequence + 1]))
            heads = slice(kv * (h // hkv), (kv + 1) * (h // hkv))
            positions = torch.arange(lengths[sequence], device="cuda")
            visible = positions[None, :] <= positions[:, None] if causal else positions[None, :] >= 0
            expected = expected_gradients(q[rows, heads], k[rows, kv], v[rows, kv], d_o[rows, heads], visible)
            worst = max(worst, ours.error_to_exact(options, [(rows, which) for which in (heads, kv, kv)], expected))
        return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}

    pairs = sum(n * n for n in lengths)
    return Case({"kernel": "attention_bwd", **parameters, **dict(options.define)},
                10 * h * pairs * d // (2 if causal else 1), ours.launch, {"varlen_attn": flash}, check,
                {**ours.others, "fixed": fixed.launch})


def varlen_backward_cases(library, options):
    for causal in (False, True) if options.causal is None else (options.causal == "yes",):
        for shape in options.shape or VARLEN_SHAPES:
            yield varlen_backward_case(library, options, *shape, causal)
