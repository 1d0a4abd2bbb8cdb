# SPDX-License-Identifier: Apache-2.0
"""The kernels of the cookbook without products of matrices."""

import math

import torch

from cookbook_problem import BF16, F32, Check, Problem

F32_ALMOST = 1e-5  # of sums and functions in f32


def rms_norm(make, m, n):
    x, w, y, r = make.normal(m, n), make.normal(n, dtype=torch.float32), make.empty(m, n), make.empty(m, dtype=torch.float32)

    def checks():
        at = make.some(m)
        rows = x[at].double()
        factors = (rows.square().mean(1) + 1e-6).rsqrt()
        return [Check(lambda: y[at], rows * factors[:, None] * w, BF16, 1e-6), Check(lambda: r[at], factors, F32_ALMOST, 0)]

    return Problem((x, w, y, r), (y, r), checks)


def rms_norm_bwd(make, m, n):
    x, w, dy, r = make.normal(m, n), make.normal(n, dtype=torch.float32), make.normal(m, n), make.uniform(0.5, 2, m)
    dx, dw = make.empty(m, n), make.empty(n, dtype=torch.float32)

    def checks():
        at, columns = make.some(m), make.some(n, 64)
        rows, gradients, factors = x[at].double(), w.double() * dy[at].double(), r[at].double()[:, None]
        mean = (rows * gradients).mean(1, keepdim=True) * factors.square()
        weights = (x[:, columns].double() * dy[:, columns].double() * r.double()[:, None]).sum(0)
        return [Check(lambda: dx[at], factors * (gradients - rows * mean), BF16, 1e-4),
                Check(lambda: dw[columns], weights, F32_ALMOST, 16 * F32 * m)]

    return Problem((x, w, r, dy, dx, dw), (dx, dw), checks)


def layer_norm(make, m, n):
    x, w, b = make.normal(m, n) + 1, make.normal(n, dtype=torch.float32), make.normal(n, dtype=torch.float32)
    y, mean, r = make.empty(m, n), make.empty(m, dtype=torch.float32), make.empty(m, dtype=torch.float32)

    def checks():
        at = make.some(m)
        rows = x[at].double()
        means, factors = rows.mean(1), (rows.var(1, unbiased=False) + 1e-5).rsqrt()
        return [Check(lambda: y[at], (rows - means[:, None]) * factors[:, None] * w + b, BF16, 1e-5),
                Check(lambda: mean[at], means, F32_ALMOST, 1e-5), Check(lambda: r[at], factors, F32_ALMOST, 0)]

    return Problem((x, w, b, y, mean, r), (y, mean, r), checks)


def layer_norm_bwd(make, m, n):
    x, w, dy = make.normal(m, n) + 1, make.normal(n, dtype=torch.float32), make.normal(m, n)
    mean, r = make.uniform(0, 2, m), make.uniform(0.5, 2, m)
    dx, dw, db = make.empty(m, n), make.empty(n, dtype=torch.float32), make.empty(n, dtype=torch.float32)

    def normalised(rows, at):
        return (rows.double() - mean[at].double()[:, None]) * r[at].double()[:, None]

    def checks():
        at, columns, all_rows = make.some(m), make.some(n, 64), slice(None)
        z, g = normalised(x[at], at), w.double() * dy[at].double()
        rows = r[at].double()[:, None] * (g - g.mean(1, keepdim=True) - z * (g * z).mean(1, keepdim=True))
        gradients = dy[:, columns].double()
        return [Check(lambda: dx[at], rows, BF16, 1e-4),
                Check(lambda: dw[columns], (gradients * normalised(x[:, columns], all_rows)).sum(0), F32_ALMOST, 32 * F32 * m),
                Check(lambda: db[columns], gradients.sum(0), F32_ALMOST, 16 * F32 * m)]

    return Problem((x, w, dy, mean, r, dx, dw, db), (dx, dw, db), checks)


def rotary(make, tokens, heads, positions, d):
    x, position, y = make.normal(tokens, heads, d), make.integers(0, positions, tokens), make.empty(tokens, heads, d)
    frequencies = 10000.0 ** (-2 * torch.arange(d // 2, device=x.device).double() / d)
    angles = torch.arange(positions, device=x.device).double()[:, None] * frequencies
    cosines, sines = angles.cos().float(), angles.sin().float()

    def checks():
        at = make.some(tokens)
        first, second = x[at].double().split(d // 2, 2)
        c, s = (table[position[at].long()].double()[:, None] for table in (cosines, sines))
        return [Check(lambda: y[at], torch.cat([first * c - second * s, second * c + first * s], 2), BF16, 1e-5)]

    return Problem((x, position, cosines, sines, y), (y,), checks)


def cross_entropy(make, tokens, words):
    x, labels = make.normal(tokens, words, scale=4.0), make.integers(0, words, tokens)
    loss, sums = make.empty(tokens, dtype=torch.float32), make.empty(tokens, dtype=torch.float32)

    def checks():
        at = make.some(tokens)
        rows = x[at].double()
        expected = rows.logsumexp(1)
        return [Check(lambda: sums[at], expected, F32_ALMOST, 1e-4),
                Check(lambda: loss[at], expected - rows.gather(1, labels[at].long()[:, None])[:, 0], F32_ALMOST, 1e-4)]

    return Problem((x, labels, loss, sums), (loss, sums), checks)


def cross_entropy_bwd(make, tokens, words):
    x, labels = make.normal(tokens, words, scale=4.0), make.integers(0, words, tokens)
    sums = torch.stack([row.float().logsumexp(0) for row in x])
    dloss, dx = make.normal(tokens, dtype=torch.float32), make.empty(tokens, words)

    def checks():
        at = make.some(tokens, 64)
        expected = (x[at].double() - sums[at].double()[:, None]).exp()
        expected[torch.arange(len(at), device=x.device), labels[at].long()] -= 1
        return [Check(lambda: dx[at], expected * dloss[at].double()[:, None], BF16, 1e-6)]

    return Problem((x, labels, sums, dloss, dx), (dx,), checks)


def softmax_bwd(make, rows, columns):
    y, dy, dx = make.normal(rows, columns, scale=3.0).softmax(1), make.normal(rows, columns), make.empty(rows, columns)

    def checks():
        at = make.some(rows)
        weights, gradients = y[at].double(), dy[at].double()
        return [Check(lambda: dx[at], weights * (gradients - (weights * gradients).sum(1, keepdim=True)), BF16, 1e-6)]

    return Problem((y, dy, dx), (dx,), checks)


def swiglu(make, m, n):
    x, y = make.normal(m, 2, n, scale=3.0), make.empty(m, n)

    def checks():
        at = make.some(m)
        g, u = x[at].double().unbind(1)
        return [Check(lambda: y[at], g * g.sigmoid() * u, BF16, 1e-6)]

    return Problem((x, y), (y,), checks)


def swiglu_bwd(make, m, n):
    x, dy, dx = make.normal(m, 2, n, scale=3.0), make.normal(m, n), make.empty(m, 2, n)

    def checks():
        at = make.some(m)
        g, u = x[at].double().unbind(1)
        s, gradient = g.sigmoid(), dy[at].double()
        return [Check(lambda: dx[at], torch.stack([gradient * u * s * (1 + g * (1 - s)), gradient * g * s], 1), BF16, 1e-5)]

    return Problem((x, dy, dx), (dx,), checks)


def gemv(make, n, k):
    a, x, y = make.normal(n, k), make.normal(k), make.empty(n, dtype=torch.float32)

    def checks():
        at = make.some(n, 1024)
        return [Check(lambda: y[at], a[at].double() @ x.double(), F32_ALMOST, 64 * F32 * math.sqrt(k))]

    return Problem((a, x, y), (y,), checks)


def embedding(make, tokens, words, d):
    word, table, y = make.integers(0, words, tokens), make.normal(words, d), make.empty(tokens, d)

    def checks():
        at = make.some(tokens)
        return [Check(lambda: y[at], table[word[at].long()].double(), 0, 1e-30)]

    return Problem((word, table, y), (y,), checks)


def embedding_bwd(make, tokens, words, d):
    word, dy, table = make.integers(0, words, tokens), make.normal(tokens, d), make.empty(words, d, dtype=torch.float32)

    def checks():
        columns = make.some(d, 64)
        expected = torch.zeros(words, len(columns), device=dy.device, dtype=torch.float64)
        expected.index_add_(0, word.long(), dy[:, columns].double())
        return [Check(lambda: table[:, columns], expected, F32_ALMOST, F32_ALMOST)]

    return Problem((word, dy, table), (table,), checks, initial=0.0)  # it is added to


def cumulative_sum(make, rows, n):
    x, y = make.normal(rows, n, dtype=torch.float32), make.empty(rows, n, dtype=torch.float32)
    return Problem((x, y), (y,), lambda: [Check(lambda: y, x.double().cumsum(1), F32_ALMOST, 128 * F32 * math.sqrt(n))])


def router(make, tokens, experts):
    count = 8
    x = make.normal(tokens, experts, dtype=torch.float32)
    weights, chosen = make.empty(tokens, count, dtype=torch.float32), make.empty(tokens, count, dtype=torch.int32)

    def checks():
        largest, places = x.topk(count, 1)
        at = make.some(tokens, 4096)
        return [Check(lambda: weights[at], largest[at].double().softmax(1), F32_ALMOST, 1e-6),
                # Of equal logits either may come first in PyTorch's result.
                Check(lambda: x[at].gather(1, chosen[at].long().clamp(0, experts - 1)), largest[at].double(), 0, 1e-30)]

    return Problem((x, weights, chosen), (weights, chosen), checks,
                   {"torch.topk and softmax": lambda: x.topk(count, 1)[0].softmax(1)})


def histogram(make, n, bins, held):
    x, counts = make.integers(0, bins, n), make.empty(bins, dtype=torch.int32)
    return Problem((x, counts), (counts,), lambda: [Check(lambda: counts, x.bincount(minlength=bins))])


def _philox(row, column, seed):
    """Four words of Philox 4 x 32 with 10 rounds for each row and column."""
    mask = 2**32 - 1

    def product(word, factor):
        low = word * factor & mask
        return low, ((word >> 16) * factor + ((word & 0xffff) * factor >> 16)) >> 16

    words, keys = [column, row, torch.zeros_like(row), torch.zeros_like(row)], [seed, 0]
    for _ in range(10):
        (p_low, p_high), (q_low, q_high) = product(words[0], 0xD2511F53), product(words[2], 0xCD9E8D57)
        words = [q_high ^ words[1] ^ keys[0], q_low, p_high ^ words[3] ^ keys[1], p_low]
        keys = [(keys[0] + 0x9E3779B9) & mask, (keys[1] + 0xBB67AE85) & mask]
    return words


def dropout(make, rows, columns):
    seed, drop = 1234, 10  # the defaults
    x, y = make.normal(rows, columns), make.empty(rows, columns)

    def checks():
        at, column = make.some(rows), torch.arange(columns, device=x.device)
        row, column = torch.broadcast_tensors(at[:, None], column[None, :])
        words = torch.stack(_philox(row // 4, column // 2, seed))
        bits = words.gather(0, (row % 4)[None])[0] >> column % 2 * 16 & 0xffff
        kept = x[at].double() * 100 / (100 - drop)
        return [Check(lambda: y[at], torch.where(bits >= (drop << 16) // 100, kept, torch.zeros_like(kept)), BF16, 1e-30)]

    return Problem((x, y), (y,), checks)


def stencil(make, rows, columns):
    x, y = (make.empty(rows, columns, dtype=torch.float32) for _ in range(2))
    x.normal_()

    def checks():
        at = make.some(rows)
        around = torch.nn.functional.pad(x, (1, 1, 1, 1))
        centre, row = around[at + 1].double(), slice(1, -1)
        moved = (around[at].double() + around[at + 2].double())[:, row] + centre[:, :-2] + centre[:, 2:]
        return [Check(lambda: y[at], centre[:, row] + 0.125 * (moved - 4 * centre[:, row]), F32_ALMOST, 1e-6)]

    return Problem((x, y), (y,), checks)


def top_k(make, rows, n, count):
    x = make.normal(rows, n, dtype=torch.float32)
    largest, at = make.empty(rows, count, dtype=torch.float32), make.empty(rows, count, dtype=torch.int32)

    def checks():
        expected = x.topk(count, 1)[0].double()
        return [Check(lambda: largest, expected, 0, 1e-30),
                Check(lambda: x.gather(1, at.long().clamp(0, n - 1)), expected, 0, 1e-30)]

    return Problem((x, largest, at), (largest, at), checks, {"torch.topk": lambda: x.topk(count, 1)})


def radix_sort(make, rows, n):
    x = make.normal(rows, n, dtype=torch.float32)
    values, source = torch.empty_like(x), make.empty(rows, n, dtype=torch.int32)

    def checks():
        expected, places = x.sort(dim=1, stable=True)
        return [Check(lambda: values, expected.double(), 0, 1e-30), Check(lambda: source, places)]

    return Problem((x, values, source), (values, source), checks, {"torch.sort": lambda: x.sort(dim=1, stable=True)})


def fp8_quantize(make, groups):
    x = make.normal(groups, 128, scale=8.0)
    q, scale = make.empty(groups, 128, dtype=torch.float8_e4m3fn), make.empty(groups, dtype=torch.float32)

    def checks():
        at = make.some(groups, 4096)
        rows = x[at].double()
        largest = rows.abs().amax(1)
        # Half of the distance between numbers, which is the same for all below 2^-6.
        return [Check(lambda: q.view(torch.uint8)[at].view(q.dtype).double(), rows * 448 / largest[:, None], 2.0**-4, 2.0**-10),
                Check(lambda: scale[at], largest / 448, F32_ALMOST, 0)]

    return Problem((x, q, scale), (q, scale), checks)


def fft(make, rows):
    x, y = make.normal(rows, 2, 64, 64, dtype=torch.float16), make.empty(rows, 2, 64, 64, dtype=torch.float32)

    def checks():
        at = make.some(rows, 64)
        expected = torch.fft.fft(torch.complex(x[at, 0].double(), x[at, 1].double()).view(len(at), 4096))
        # Factors and what is between the products are f16; results are of the order of 90.
        return [Check(lambda: y[at], torch.stack([expected.real, expected.imag], 1).view(len(at), 2, 64, 64), 0.01, 0.5)]

    return Problem((x, y), (y,), checks)
