# SPDX-License-Identifier: Apache-2.0
"""Attention forward against cuDNN, FlexAttention and PyTorch's varlen_attn."""

import inspect
import math

import torch

from measure import Case, DTYPES, ROUNDING, compare, programs, those_that_run
from shapes import AttentionShape, drawn, model_forward, random_forward

ATTENTION_SHAPES = [  # b, s, h, hkv
    (16, 1024, 16, 16),
    (8, 2048, 16, 16),
    (4, 4096, 16, 16),
    (2, 8192, 16, 16),
    (1, 16384, 16, 16),
    (4, 4096, 32, 8),
]


def sdpa(backend, q, k, v, causal):
    """PyTorch's attention of tensors b x h x s x d: queries see keys up to their own position, counted from the beginning."""
    def launch():
        with torch.nn.attention.sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                                    enable_gqa=q.shape[1] != k.shape[1])
    return launch


BACKENDS = {"cudnn": torch.nn.attention.SDPBackend.CUDNN_ATTENTION, "flash": torch.nn.attention.SDPBackend.FLASH_ATTENTION}


def backends_of(options):
    """The table's rows have cuDNN alone, shapes that are drawn all that take them."""
    return BACKENDS if options.random or options.models is not None else {"cudnn": BACKENDS["cudnn"]}


def parameters_of(shape, options, alignment):
    """Of our program. Where there are as many queries as keys, both alignments are the same."""
    causal = "none" if not shape.causal else "right" if shape.sq == shape.sk else alignment
    return {"b": shape.b, "sq": shape.sq, "sk": shape.sk, "h": shape.h, "hkv": shape.hkv, "d": shape.d, "dv": shape.dv,
            "dtype": options.dtype, "causal": causal}


def normal(options, *shapes):
    """Tensors of numbers with the standard normal distribution, rounded to the type."""
    return [torch.randn(*shape, device="cuda", dtype=torch.float32).to(DTYPES[options.dtype]) for shape in shapes]


def empty_results(q, v, *of_lse):
    """O and LSE."""
    return (torch.empty(*q.shape[:-1], v.shape[-1], device="cuda", dtype=q.dtype),
            torch.empty(*of_lse, device="cuda", dtype=torch.float32))


def visible_keys(shape, rows, alignment):
    """Which keys these queries see."""
    keys = torch.arange(shape.sk, device="cuda")[None, :]
    if not shape.causal:
        return torch.ones(len(rows), shape.sk, device="cuda", dtype=torch.bool)
    return keys <= rows[:, None] + (shape.sk - shape.sq if alignment == "right" else 0)


def attention_case(library, options, shape):
    """Forward, tensors b x s x h x d. PyTorch aligns causal attention at the left, further peers at the right: ours
    takes turns in both forms where these differ."""
    b, sq, sk, h, hkv, d, dv = shape.b, shape.sq, shape.sk, shape.h, shape.hkv, shape.d, shape.dv
    q, k, v = normal(options, (b, sq, h, d), (b, sk, hkv, d), (b, sk, hkv, dv))
    is_skewed = shape.causal and sq != sk
    launch_of, results = {}, {}
    for alignment in ("right", "left") if is_skewed else ("left",):
        o, lse = empty_results(q, v, b, h, sq)
        parameters = parameters_of(shape, options, alignment)
        launch_of[alignment], others = programs(library, "attention_fwd", parameters, (q, k, v, o, lse), options)
        results[alignment] = o, lse
    heads_first = [tensor.transpose(1, 2) for tensor in (q, k, v)]
    of_pytorch, without = those_that_run({name: sdpa(backend, *heads_first, shape.causal)
                                          for name, backend in backends_of(options).items()})
    further = {}
    for module in options.peer:
        # A launch on tensors of its own, or None.
        launch = module.attention_fwd(q, k, v, shape.causal)
        if launch:
            further[module.__name__] = launch
    further, failing = those_that_run(further)

    def check():
        # Weights are rounded before they meet v, in which both differ from the exact result and from each other.
        rounding, worst = ROUNDING[options.dtype], 0.0
        for alignment, (o, lse) in results.items():
            o.fill_(math.nan)
            lse.fill_(math.nan)
            launch_of[alignment]()
            if alignment == "left" and of_pytorch:
                peer = next(iter(of_pytorch.values()))().transpose(1, 2)
                worst = max(worst, compare(o, peer.float(), 4 * rounding, 4 * rounding))
            rows = torch.cat([torch.tensor([0, sq - 1]), torch.randint(0, sq, (62,))]).cuda()
            visible = visible_keys(shape, rows, alignment)
            for batch, head in {(0, 0), (b - 1, h - 1)}:
                kv = head * hkv // h
                expected, sums = expected_rows(q[batch, rows, head], k[batch, :, kv], v[batch, :, kv], visible, d**-0.5)
                worst = max(worst, compare(o[batch, rows, head], expected, 2 * rounding, 2 * rounding),
                            compare(lse[batch, head, rows], sums, 1e-5, 1e-5))
        return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}

    identity = {"kernel": "attention_fwd", **({"name": shape.name} if shape.name else {}), **parameters,
                **dict(options.define), **({"without": {**without, **failing}} if without or failing else {})}
    beside = {name: launch_of["right"] for name in further} if is_skewed else {}
    return Case(identity, 2 * b * h * shape.pairs("left") * (d + dv), launch_of["left"], {**of_pytorch, **further}, check, others,
                beside)


def attention_shapes(options, random_shapes, model_shapes):
    if options.random:
        return random_shapes(options.random, options.seed)
    if options.models is not None:
        return drawn(model_shapes(), options)
    return [AttentionShape(b, options.sq or s, s, h, hkv, options.d, causal, dv=options.dv)
            for causal in ((False, True) if options.causal is None else (options.causal == "yes",))
            for b, s, h, hkv in options.shape or ATTENTION_SHAPES]


def attention_cases(library, options):
    for shape in attention_shapes(options, random_forward, model_forward):
        yield attention_case(library, options, shape)


def expected_rows(q, k, v, visible, scale):
    """O and LSE of some queries of one head in double precision; `visible` is queries x keys."""
    scores = q.double() @ k.double().t() * scale
    scores.masked_fill_(~visible, -math.inf)
    return scores.softmax(-1) @ v.double(), scores.logsumexp(-1)


def block_causal_rule(half, block):
    """Whether a query sees a key, as FlexAttention asks: noisy positions come first, clean ones after."""
    def sees(batch, head, query, key):
        same = (query < half) & (key < half) & (query // block == key // block)
        before = (query < half) & (key >= half) & ((key - half) // block < query // block)
        clean = (query >= half) & (key >= half) & ((key - half) // block <= (query - half) // block)
        return same | before | clean
    return sees


BLOCK_CAUSAL_SHAPES = [(1, 8192, 16, 16), (2, 8192, 32, 8), (1, 16384, 16, 16)]


def block_causal_case(library, options, b, s, h, hkv, block=32):
    """Noisy and clean halves of a sequence, against FlexAttention, compiled, with its block mask."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    d, half = options.d, s // 2
    q, k, v = normal(options, (b, s, h, d), (b, s, hkv, d), (b, s, hkv, d))
    o, lse = empty_results(q, v, b, h, s)
    parameters = {"b": b, "sq": s, "sk": s, "h": h, "hkv": hkv, "d": d, "dtype": options.dtype,
                  "mask": "block_causal", "block": block}
    ours, others = programs(library, "attention_fwd", parameters, (q, k, v, o, lse), options)

    sees = block_causal_rule(half, block)
    mask = create_block_mask(sees, None, None, s, s, device="cuda", _compile=True)
    compiled = torch.compile(flex_attention)
    heads_first = [tensor.transpose(1, 2).contiguous() for tensor in (q, k, v)]

    def flex():
        return compiled(*heads_first, block_mask=mask, enable_gqa=h != hkv)

    def check():
        o.fill_(math.nan)
        lse.fill_(math.nan)
        ours()
        rounding = ROUNDING[options.dtype]
        worst = compare(o, flex().transpose(1, 2).float(), 4 * rounding, 4 * rounding)
        rows = torch.cat([torch.tensor([0, half - 1, half, s - 1]), torch.randint(0, s, (60,))]).cuda()
        visible = sees(0, 0, rows[:, None], torch.arange(s, device="cuda")[None, :])
        for batch, head in {(0, 0), (b - 1, h - 1)}:
            kv = head * hkv // h
            expected, sums = expected_rows(q[batch, rows, head], k[batch, :, kv], v[batch, :, kv], visible, d**-0.5)
            worst = max(worst, compare(o[batch, rows, head], expected, 2 * rounding, 2 * rounding),
                        compare(lse[batch, head, rows], sums, 1e-5, 1e-5))
        return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}

    return Case({"kernel": "attention_fwd", **parameters, **dict(options.define)},
                4 * b * h * d * (half * half + half * block), ours, {"flex": flex}, check, others)


def block_causal_cases(library, options):
    for shape in options.shape or BLOCK_CAUSAL_SHAPES:
        yield block_causal_case(library, options, *shape)


VARLEN_SHAPES = [(8, 8192, 16, 16), (8, 8192, 32, 8)]


def random_lengths(count, longest):
    """Lengths from 256 on, and the row where each sequence begins, after the last one, too."""
    lengths = torch.randint(256, longest + 1, (count,)).tolist()
    return lengths, torch.tensor([0] + lengths).cumsum(0).to(device="cuda", dtype=torch.int32)


def even_length(lengths):
    """Of as many sequences of one length, with as many pairs in all."""
    return round(math.sqrt(sum(n * n for n in lengths) / len(lengths)))


def varlen_mask(varlen_attn, causal):
    """Newer versions of PyTorch say it by the window."""
    has_flag = "is_causal" in inspect.signature(varlen_attn).parameters
    return {"is_causal": causal} if has_flag else {"window_size": (-1, 0 if causal else -1)}


def varlen_case(library, options, b, longest, h, hkv, causal):
    """Packed sequences of random lengths from 256 to `longest`, against PyTorch's varlen_attn, and beside our program of
    as many sequences of one length, with as many pairs in all."""
    from torch.nn.attention.varlen import varlen_attn

    d = options.d
    lengths, begins = random_lengths(b, longest)
    total = sum(lengths)
    q, k, v = normal(options, (total, h, d), (total, hkv, d), (total, hkv, d))
    o, lse = empty_results(q, v, h, total)
    parameters = {"varlen": ",".join(map(str, lengths)), "h": h, "hkv": hkv, "d": d, "dtype": options.dtype,
                  "causal": "right" if causal else "none"}
    ours, others = programs(library, "attention_fwd", parameters, (q, k, v, begins, begins, o, lse), options)
    even = even_length(lengths)
    of_even = normal(options, (b, even, h, d), (b, even, hkv, d), (b, even, hkv, d))
    fixed = library.compile("attention_fwd", **{**parameters, "varlen": "none", "b": b, "sq": even, "sk": even,
                                                **dict(options.define)})
    others["fixed"] = fixed.bind(*of_even, *empty_results(of_even[0], of_even[2], b, h, even))
    # It has as many heads of keys as of queries.
    repeated = [tensor.repeat_interleave(h // hkv, 1) for tensor in (k, v)]

    def flash():
        return varlen_attn(q, *repeated, begins, begins, max(lengths), max(lengths), **varlen_mask(varlen_attn, causal))

    def check():
        o.fill_(math.nan)
        lse.fill_(math.nan)
        ours()
        rounding = ROUNDING[options.dtype]
        worst = compare(o, flash().float(), 4 * rounding, 4 * rounding)
        for sequence, head in {(0, 0), (b - 1, h - 1)}:
            own = slice(int(begins[sequence]), int(begins[sequence + 1]))
            rows = torch.cat([torch.tensor([0, lengths[sequence] - 1]), torch.randint(0, lengths[sequence], (62,))]).cuda()
            visible = torch.ones(len(rows), lengths[sequence], device="cuda", dtype=torch.bool)
            if causal:
                visible = torch.arange(lengths[sequence], device="cuda")[None, :] <= rows[:, None]
            kv = head * hkv // h
            expected, sums = expected_rows(q[own][rows, head], k[own][:, kv], v[own][:, kv], visible, d**-0.5)
            worst = max(worst, compare(o[own][rows, head], expected, 2 * rounding, 2 * rounding),
                        compare(lse[head, own][rows], sums, 1e-5, 1e-5))
        finite = bool(o.isfinite().all() and lse.isfinite().all())
        return {"largest_error": worst, "limit": 1.0, "correct": finite and worst <= 1.0}

    pairs = sum(n * n for n in lengths)
    return Case({"kernel": "attention_fwd", **parameters, **dict(options.define)},
                4 * h * pairs * d // (2 if causal else 1), ours, {"varlen_attn": flash}, check, others)


def varlen_cases(library, options):
    for causal in (False, True) if options.causal is None else (options.causal == "yes",):
        for shape in options.shape or VARLEN_SHAPES:
            yield varlen_case(library, options, *shape, causal)
