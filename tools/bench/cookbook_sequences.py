# SPDX-License-Identifier: Apache-2.0
"""The attention of the cookbook, and its kernels with a state."""

import math

import torch
import torch.nn.functional as F

from cookbook_problem import BF16, Check, Problem, compiled

CHUNK = 64


def roughly(actual, expected, share=0.05):
    """A row may be wrong by a share of its root mean square, too: factors of its products are rounded to bf16."""
    return Check(actual, expected, BF16, share * expected.square().mean(-1, keepdim=True).sqrt() + 1e-4)


def _by_chunks(x):
    return x.unflatten(1, (-1, CHUNK))


def _linear_attention(q, k, v):
    q, k, v = _by_chunks(q), _by_chunks(k), _by_chunks(v)
    own = (k.transpose(-1, -2) @ v).float()
    before = (own.cumsum(1) - own).to(q.dtype)
    return ((q @ k.transpose(-1, -2)).tril() @ v + q @ before).flatten(1, 2)


def linear_attention(make, heads, tokens):
    q, k, v = (make.normal(heads, tokens, 64, scale=scale) for scale in (1, 1 / 8, 1))
    o, expression = make.empty(heads, tokens, 64), compiled(_linear_attention)

    def checks():
        head, at = heads - 1, make.some(tokens)
        scores = q[head, at].double() @ k[head].double().t()
        scores = scores.masked_fill(torch.arange(tokens, device=q.device) > at[:, None], 0)
        return [roughly(lambda: o[head, at], scores @ v[head].double())]

    return Problem((q, k, v, o), (o,), checks, {"PyTorch compiled": lambda: expression(q, k, v)})


def _mamba_scan(x, a, b, c):
    x, a, b, c = _by_chunks(x), _by_chunks(a), _by_chunks(b), _by_chunks(c)
    sums = a.cumsum(-1)
    within = (sums[..., :, None] - sums[..., None, :]).tril().exp().tril()
    own = ((b * (sums[..., -1:] - sums).exp()[..., None]).to(b.dtype).transpose(-1, -2) @ x).float()
    ends = F.pad(sums[..., -1].cumsum(-1), (1, 0))  # decays of whole chunks, from each to each later one
    between = (ends[..., :-1, None] - ends[..., None, 1:]).tril(-1).exp().tril(-1)
    before = torch.einsum("hij,hjnd->hind", between, own).to(x.dtype)
    y = ((c @ b.transpose(-1, -2)) * within).to(x.dtype) @ x + (c @ before) * sums.exp()[..., None]
    return y.to(x.dtype).flatten(1, 2)


def mamba_scan(make, heads, tokens):
    x, b, c = (make.normal(heads, tokens, 64, scale=scale) for scale in (1, 1 / 8, 1))
    a, y, expression = make.uniform(-0.2, 0, heads, tokens), make.empty(heads, tokens, 64), compiled(_mamba_scan)

    def checks():
        head, at = heads - 1, make.some(tokens)
        sums = a[head].double().cumsum(0)
        is_later = torch.arange(tokens, device=x.device) > at[:, None]
        decays = (sums[at][:, None] - sums).masked_fill(is_later, -math.inf).exp()
        return [roughly(lambda: y[head, at], (c[head, at].double() @ b[head].double().t() * decays) @ x[head].double())]

    return Problem((x, a, b, c, y), (y,), checks, {"PyTorch compiled": lambda: expression(x, a, b, c)})


def _gated_delta_rule(q, k, v, g, beta):
    """By chunks, as the kernel: S. Yang et al., Gated Delta Networks, 2024."""
    q, k, v, sums, beta = _by_chunks(q), _by_chunks(k), _by_chunks(v), _by_chunks(g).cumsum(-1), _by_chunks(beta)
    within = (sums[..., :, None] - sums[..., None, :]).tril().exp().tril()
    system = ((k @ k.transpose(-1, -2)).float() * within * beta[..., None]).tril(-1)
    identity = torch.eye(CHUNK, device=q.device)
    inverse = torch.linalg.solve_triangular(system + identity, identity.expand_as(system), upper=False, unitriangular=True)
    inverse = inverse * beta[..., None, :]
    w, u = (inverse * sums.exp()[..., None, :]).to(k.dtype) @ k, inverse.to(k.dtype) @ v
    scores = ((q @ k.transpose(-1, -2)) * within).to(q.dtype)
    left, right = q * sums.exp()[..., None].to(q.dtype), k * (sums[..., -1:] - sums).exp()[..., None].to(k.dtype)
    decays = sums[..., -1].exp()[..., None, None]
    state, results = torch.zeros(q.shape[0], q.shape[-1], v.shape[-1], device=q.device), []
    for i in range(q.shape[1]):
        before = state.to(q.dtype)
        news = u[:, i] - w[:, i] @ before
        results.append(left[:, i] @ before + scores[:, i] @ news)
        state = state * decays[:, i] + right[:, i].transpose(-1, -2) @ news
    return torch.cat(results, 1) / math.sqrt(q.shape[-1]), state


def gated_delta_rule(make, heads, tokens):
    d = 128
    q, v, o = make.normal(heads, tokens, d), make.normal(heads, tokens, d), make.empty(heads, tokens, d)
    k = F.normalize(make.normal(heads, tokens, d, dtype=torch.float32), dim=-1).bfloat16()
    g, beta = make.uniform(-0.2, 0, heads, tokens), make.uniform(0, 1, heads, tokens)
    last = make.empty(heads, d, d, dtype=torch.float32)

    def checks():
        at = [0, heads - 1]
        state, rows = torch.zeros(len(at), d, d, device=q.device, dtype=torch.float64), []
        queries, keys, values, strengths = (x[at].double() for x in (q, k, v, beta))
        decays = g[at].double().exp()
        for t in range(tokens):
            key = keys[:, t, None, :]
            state = state * decays[:, t, None, None]
            state = state + strengths[:, t, None, None] * key.transpose(1, 2) @ (values[:, t, None] - key @ state)
            rows.append(queries[:, t, None] @ state)
        expected = torch.cat(rows, 1) / math.sqrt(d)
        return [roughly(lambda: o[at], expected), roughly(lambda: last[at], state)]

    return Problem((q, k, v, g, beta, o, last), (o, last), checks,
                   {"PyTorch by chunks": lambda: _gated_delta_rule(q, k, v, g, beta)})


def block_sparse_attention(make, heads, tokens, most):
    q, k, v, o = (make.normal(heads, tokens, 64) for _ in range(4))
    tiles = tokens // 128
    counts = make.integers(1, most + 1, heads, tiles)
    order = torch.rand(heads, tiles, tiles, device=q.device).argsort(-1).int()
    listed = order[..., :most].contiguous()

    def flex():
        from torch.nn.attention.flex_attention import BlockMask, flex_attention

        none = torch.zeros_like(counts)[None]
        mask = BlockMask.from_kv_blocks(none, order[None], counts[None], order[None], BLOCK_SIZE=128)
        return lambda: compiled(flex_attention)(q[None], k[None], v[None], block_mask=mask)

    def checks():
        found = []
        for head, tile in {(0, 0), (heads // 2, tiles // 2), (heads - 1, tiles - 1)}:
            rows = slice(tile * 128, tile * 128 + 128)
            seen = listed[head, tile, :counts[head, tile]].long()
            keys, values = (x[head].unflatten(0, (-1, 128))[seen].flatten(0, 1).double() for x in (k, v))
            weights = (q[head, rows].double() @ keys.t() / 8).softmax(-1)
            found.append(roughly(lambda head=head, rows=rows: o[head, rows], weights @ values))
        return found

    peers = {}
    try:
        peers["FlexAttention compiled"] = flex()
    except (ImportError, TypeError, RuntimeError):
        pass  # this PyTorch has none, or another one
    return Problem((q, k, v, o, counts, listed), (o,), checks, peers)


def sparse_mla(make, batches, queries, heads, keys, top):
    row, latent = 576, 512
    q, cache = make.normal(batches, queries, heads, row), make.normal(batches, keys, row)
    indices = make.integers(0, keys - queries + 1, batches, queries, top)  # which every query sees
    o, lse = make.empty(batches, queries, heads, latent), make.empty(batches, queries, heads, dtype=torch.float32)
    places = indices.long() + torch.arange(batches, device=q.device)[:, None, None] * keys

    def gathered():
        rows = cache.flatten(0, 1)[places]
        scores = q @ rows.transpose(-1, -2) / math.sqrt(row)
        return scores.softmax(-1) @ rows[..., :latent], scores.float().logsumexp(-1)

    def checks():
        found = []
        for query in {0, queries // 2, queries - 1}:
            rows = cache[batches - 1, indices[batches - 1, query].long()].double()
            scores = q[batches - 1, query].double() @ rows.t() / math.sqrt(row)
            found += [roughly(lambda query=query: o[batches - 1, query], scores.softmax(-1) @ rows[:, :latent]),
                      Check(lambda query=query: lse[batches - 1, query], scores.logsumexp(-1) / math.log(2), 1e-4, 1e-3)]
        return found

    return Problem((q, cache, indices, o, lse), (o, lse), checks, {"PyTorch by gathered rows": gathered})


def selected_attention(make, queries, keys, kvheads, group, blocks):
    d, size = 128, 64
    q, o = (make.normal(queries, kvheads, group, d) for _ in range(2))
    k, v = (make.normal(keys, kvheads, d) for _ in range(2))
    position = torch.arange(keys - queries, keys, device=q.device)
    chosen = torch.rand(queries, kvheads, blocks, device=q.device) * (position // size + 1)[:, None, None]
    listed = chosen.int()
    heads = torch.arange(kvheads, device=q.device)[None, :, None]

    def gathered():
        # queries x kvheads x blocks x 64 x d
        rows_k, rows_v = (x.view(keys // size, size, kvheads, d).transpose(1, 2)[listed.long(), heads].flatten(2, 3)
                          for x in (k, v))
        scores = q @ rows_k.transpose(-1, -2) / math.sqrt(d)
        seen = (listed[..., None] * size + torch.arange(size, device=q.device)).flatten(2) <= position[:, None, None]
        return scores.masked_fill(~seen[:, :, None], -math.inf).softmax(-1) @ rows_v

    def checks():
        found = []
        for query in {0, queries // 2, queries - 1}:
            head = query % kvheads
            seen = (listed[query, head, :, None].long() * size + torch.arange(size, device=q.device)).flatten()
            seen = seen[seen <= position[query]]
            weights = (q[query, head].double() @ k[seen, head].double().t() / math.sqrt(d)).softmax(-1)
            found.append(roughly(lambda query=query, head=head: o[query, head], weights @ v[seen, head].double()))
        return found

    return Problem((q, o, k, v, listed), (o,), checks, {"PyTorch by gathered blocks": gathered})


def masked_decode(make, batches, kvheads, group, keys, splits):
    d = 128
    q, o = (make.normal(batches, kvheads, group, d) for _ in range(2))
    k, v = (make.normal(batches, keys, kvheads, d) for _ in range(2))
    mask = make.integers(0, 2, batches, kvheads, keys, dtype=torch.uint8)

    def checks():
        found = []
        for batch, head in {(0, 0), (batches // 2, kvheads // 2), (batches - 1, kvheads - 1)}:
            scores = q[batch, head].double() @ k[batch, :, head].double().t() / math.sqrt(d)
            weights = scores.masked_fill(mask[batch, head] == 0, -math.inf).softmax(-1)
            found.append(roughly(lambda batch=batch, head=head: o[batch, head], weights @ v[batch, :, head].double()))
        return found

    return Problem((q, o, k, v, mask), (o,), checks)
