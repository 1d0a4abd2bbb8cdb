# SPDX-License-Identifier: Apache-2.0
"""The kernels of the cookbook as they are timed: ranges of their parameters, bytes and FLOPs, what they are compared
with. Without PyTorch."""

import random
from dataclasses import dataclass, field
from typing import Callable

from shapes import log_uniform

# What a kernel has to do at the drawn sizes: enough to take longer than a launch, and more bytes than L2 holds. Rows of
# the products' operands are multiples of 128 bytes: others cross lines of L2, which slows tiles of 128 bytes down.
BYTES = (2**27, 2**30)
FLOPS = (2**36, 2**40)


@dataclass(frozen=True)
class Span:
    """Multiples of `step`; as many between n and 2n for every n."""

    lowest: int
    highest: int
    step: int = 1

    def draw(self, draw):
        return log_uniform(draw, self.lowest // self.step, self.highest // self.step) * self.step

    def __str__(self):
        return f"{self.lowest} to {self.highest}" + (f" in steps of {self.step}" if self.step > 1 else "")


@dataclass(frozen=True)
class OneOf:
    values: tuple

    def draw(self, draw):
        return draw.choice(self.values)

    def __str__(self):
        return " or ".join(map(str, self.values))


@dataclass(frozen=True)
class CookbookKernel:
    """`bytes` must cross global memory, each input and output once; a function of the parameters, as `flops` is. The
    kernel counts against a copy of as many bytes, or, where it has FLOPs, against the fastest of `peers`. Draws are
    repeated until the bytes or FLOPs are `within` two numbers."""

    name: str
    peers: str  # names, as a table shows them
    ranges: dict
    bytes: Callable[..., int]
    flops: Callable[..., int] = None
    derived: dict = field(default_factory=dict)  # parameters that follow from others
    within: tuple = None
    constants: tuple = ()  # derived parameters that are no sizes

    def fixed(self, values):
        """The parameters that a program is compiled for; it takes any sizes."""
        return {name: value for name, value in values.items()
                if name in self.constants or isinstance(self.ranges.get(name), OneOf)}

    @property
    def is_against_copy(self):
        return self.peers == "copy"

    @property
    def limits(self):
        return self.within or (BYTES if self.is_against_copy else FLOPS)

    def work(self, values):
        return self.bytes(**values) if self.is_against_copy else self.flops(**values)

    def draw(self, draw):
        lowest, highest = self.limits
        for _ in range(10000):
            values = {name: span.draw(draw) for name, span in self.ranges.items()}
            values |= {name: function(**values) for name, function in self.derived.items()}
            if lowest <= self.work(values) <= highest:
                return values
        raise ValueError(f"{self.name}: no draw has {lowest} to {highest} {'bytes' if self.is_against_copy else 'FLOPs'}")

    def draws(self, count, seed):
        """The same ones for every order of the kernels."""
        draw = random.Random(f"{self.name} {seed}")
        return [self.draw(draw) for _ in range(count)]


def _copied(name, ranges, bytes, **more):
    return CookbookKernel(name, "copy", ranges, bytes, **more)


def _splits(batches, kvheads, **_):
    """Of the keys in masked_decode: four blocks for each of 132 multiprocessors, where there are enough keys."""
    return next((splits for splits in (1, 2, 4, 8, 16, 32) if batches * kvheads * splits >= 528), 64)


def _tokens(m, **_):
    """Of a tile in w4a16_gemm."""
    return next((tokens for tokens in (16, 32, 64) if m <= tokens), 128)


def _parts(m, n, **_):
    """Of the sum along k in w4a16_gemm: two blocks for each of 132 multiprocessors, of tiles with 128 tokens one."""
    tokens = _tokens(m)
    tiles, blocks = -(-n // 128) * -(-m // tokens), 132 if tokens > 64 else 264
    return next((splits for splits in (1, 2, 4, 8) if tiles * splits >= blocks), 16)


def _columns(m, n, k, batch=1, epilogue=lambda columns: 200, widths=(256, 192, 128), **_):
    """Of a tile with 128 rows: those for which 132 blocks need the least time. A step of 64 along k takes as long as its
    columns and 48 more do; the rest of a tile as long as `epilogue` says."""
    def time(columns):
        tiles = batch * -(-m // 128) * -(-n // columns)
        return -(-tiles // 132) * (-(-k // 64) * (columns + 48) + epilogue(columns))

    return min(widths, key=time)


_WIDTHS = (256, 224, 192, 160, 128)  # that the TMA stores


def _gelu_columns(**values):
    return _columns(**values, epilogue=lambda columns: 14 * columns + (700 if columns > 192 else 0))


def _shared_columns(m, n, **_):
    """Of a tile in stream_k_gemm: as above, where up to four blocks share each tile of the last round."""
    def time(columns):
        tiles = -(-m // 128) * -(-n // columns)
        rounds, last = divmod(tiles, 132)
        return (rounds + (1 / min(132 // last, 4) if last else 0)) * (columns + 48)

    return min((256, 192, 128), key=time)


def _pixels(images, width, stride, **_):
    """Of the results of convolution."""
    return images * (-(-width // stride)) ** 2


_ROWS = {"m": Span(1024, 65536), "n": Span(512, 16384, 8)}
_LOGITS = {"tokens": Span(256, 16384), "words": Span(16384, 262144, 8)}
_TABLE = {"tokens": Span(2048, 65536), "words": Span(32768, 131072), "d": Span(512, 8192, 8)}
_STATES = {"heads": Span(64, 1024), "tokens": Span(512, 16384, 64)}
_EXTENT = Span(1024, 16384, 64)



def group_extents(groups, m, n, k):
    """m, n and k of each group, up to these: any m, rows of multiples of 128 bytes."""
    draw = random.Random(f"{groups} {m} {n} {k}")
    return [(draw.randint(0, m), 64 * draw.randint(0, n // 64), 64 * draw.randint(0, k // 64)) for _ in range(groups)]


KERNELS = [
    _copied("rms_norm", _ROWS, lambda m, n: 4 * m * n + 4 * (m + n)),
    _copied("rms_norm_bwd", _ROWS, lambda m, n: 6 * m * n + 4 * m + 8 * n),
    _copied("layer_norm", _ROWS, lambda m, n: 4 * m * n + 8 * (m + n)),
    _copied("layer_norm_bwd", _ROWS, lambda m, n: 6 * m * n + 8 * m + 12 * n),
    _copied("rotary", {"tokens": Span(1024, 65536), "heads": Span(8, 64), "positions": Span(1024, 131072),
                       "d": OneOf((64, 128))},
            lambda tokens, heads, positions, d: 4 * tokens * heads * d + 4 * tokens + 4 * d * min(tokens, positions)),
    _copied("cross_entropy", _LOGITS, lambda tokens, words: 2 * tokens * words + 12 * tokens),
    _copied("cross_entropy_bwd", _LOGITS, lambda tokens, words: 4 * tokens * words + 12 * tokens),
    _copied("softmax_bwd", {"rows": _ROWS["m"], "columns": _ROWS["n"]}, lambda rows, columns: 6 * rows * columns),
    _copied("swiglu", _ROWS, lambda m, n: 6 * m * n),
    _copied("swiglu_bwd", _ROWS, lambda m, n: 10 * m * n),
    CookbookKernel("gemm_gelu", "PyTorch compiled", {"m": _ROWS["m"], "n": _EXTENT, "k": Span(512, 8192, 64)},
                   lambda m, n, k, **_: 2 * (m * k + n * k + 2 * m * n) + 4 * n, lambda m, n, k, **_: 2 * m * n * k,
                   {"columns": _gelu_columns}, constants=("columns",)),
    CookbookKernel("batched_gemm", "torch.bmm", {"batch": Span(4, 256), "m": Span(128, 2048), "n": Span(128, 2048, 64),
                                                 "k": Span(64, 2048, 64)},
                   lambda batch, m, n, k, **_: 2 * batch * (m * k + n * k + m * n),
                   lambda batch, m, n, k, **_: 2 * batch * m * n * k, {"columns": lambda **values: _columns(**values, widths=_WIDTHS)},
                   constants=("columns",)),
    CookbookKernel("stream_k_gemm", "torch.mm", {"m": Span(256, 8192), "n": Span(256, 8192, 64), "k": Span(1024, 16384, 64)},
                   lambda m, n, k, **_: 2 * (m * k + n * k + m * n), lambda m, n, k, **_: 2 * m * n * k,
                   {"columns": _shared_columns}, constants=("columns",)),
    CookbookKernel("grouped_gemm", "torch grouped_mm", {"rows": Span(2048, 32768), "groups": Span(4, 64),
                                                        "n": Span(1024, 8192, 64), "k": Span(1024, 8192, 64)},
                   lambda rows, groups, n, k: 2 * (rows * k + groups * n * k + rows * n) + 4 * groups,
                   lambda rows, groups, n, k: 2 * rows * n * k),
    CookbookKernel("pointer_array_gemm", "torch.mm in a loop", {"groups": Span(4, 64), "m": Span(256, 8192),
                                                                "n": Span(1024, 8192, 64), "k": Span(1024, 8192, 64)},
                   lambda **sizes: sum(2 * (m * k + n * k + m * n) for m, n, k in group_extents(**sizes)),
                   lambda **sizes: sum(2 * m * n * k for m, n, k in group_extents(**sizes))),
    CookbookKernel("w4a16_gemm", "int4pack_mm, torch.mm on bf16", {"m": Span(1, 256), "n": Span(4096, 16384, 8),
                                                                   "groups": Span(32, 128, 8)},
                   lambda m, n, groups, **_: 256 * m * groups + 68 * n * groups + 2 * m * n,
                   lambda m, n, groups, **_: 256 * m * n * groups, {"tokens": _tokens, "splits": _parts}, (2**27, 2**38),
                   ("tokens", "splits")),
    CookbookKernel("mxfp4_gemm", "torch.mm on bf16", {"m": Span(64, 8192), "n": Span(2048, 16384, 8),
                                                      "groups": Span(64, 512, 16)},
                   lambda m, n, groups, **_: 64 * m * groups + 17 * n * groups + 2 * m * n,
                   lambda m, n, groups, **_: 64 * m * n * groups, {"columns": lambda m, n, groups, **_: _columns(m, n, 32 * groups, widths=_WIDTHS)},
                   (2**34, 2**40), ("columns",)),
    CookbookKernel("fp8_block_gemm", "torch._scaled_mm", {"m": Span(1024, 16384, 8), "n": Span(1024, 16384, 128), "groups": Span(8, 64, 4)},
                   lambda m, n, groups: 128 * groups * (m + n) + 4 * groups * (m + -(-n // 128)) + 2 * m * n,
                   lambda m, n, groups: 256 * m * n * groups),
    CookbookKernel("w8a8_gemm", "torch._int_mm and PyTorch compiled", {"m": Span(1024, 16384, 8), "n": _EXTENT, "k": Span(512, 8192, 128)},
                   lambda m, n, k: m * k + n * k + 4 * (m + n) + 2 * m * n, lambda m, n, k: 2 * m * n * k),
    CookbookKernel("sparse_gemm", "torch.mm, torch.sparse semi-structured", {"m": Span(1024, 16384, 64), "n": Span(1024, 16384, 64),
                                                                             "steps": Span(4, 64)},
                   lambda m, n, steps, **_: 128 * steps * (m + 2 * n) + 16 * steps * m + 2 * m * n,
                   lambda m, n, steps, **_: 256 * m * n * steps),
    _copied("gemv", {"n": Span(2048, 65536), "k": Span(2048, 65536, 8)}, lambda n, k: 2 * n * k + 2 * k + 4 * n),
    _copied("embedding", _TABLE, lambda tokens, words, d: 2 * d * (tokens + min(tokens, words)) + 4 * tokens),
    _copied("embedding_bwd", _TABLE, lambda tokens, words, d: 2 * d * tokens + 8 * d * min(tokens, words) + 4 * tokens),
    _copied("cumulative_sum", {"rows": Span(1, 64), "n": Span(2**18, 2**27, 4)}, lambda rows, n: 8 * rows * n),
    CookbookKernel("router", "torch.topk and softmax", {"tokens": Span(4096, 2**20), "experts": Span(32, 256, 8)},
                   lambda tokens, experts: tokens * (4 * experts + 64),
                   lambda tokens, experts: 24 * tokens * experts, within=(2**27, 2**32)),
    CookbookKernel("fused_moe", "torch.topk, grouped_mm", {"tokens": Span(64, 16384), "d": Span(1024, 4096, 64),
                                                           "f": Span(512, 2048, 64), "experts": Span(16, 128, 8),
                                                           "count": OneOf((4, 8))},
                   lambda tokens, d, f, experts, count: 6 * experts * d * f + 4 * tokens * d + 4 * tokens * experts,
                   lambda tokens, d, f, experts, count: 6 * tokens * count * d * f, within=(2**34, 2**39)),
    _copied("histogram", {"n": Span(2**24, 2**28), "bins": Span(64, 65536)}, lambda n, bins, **_: 4 * (n + bins),
            derived={"held": lambda bins, **_: next((held for held in (8192, 24576, 49152) if bins <= held), 8192)},
            constants=("held",)),
    _copied("dropout", {"rows": Span(1024, 65536), "columns": Span(1024, 65536, 8)},
            lambda rows, columns: 4 * rows * columns),
    _copied("stencil", {"rows": Span(1024, 65536), "columns": Span(1024, 65536, 4)},
            lambda rows, columns: 8 * rows * columns),
    CookbookKernel("linear_attention", "PyTorch compiled", _STATES, lambda heads, tokens: 512 * heads * tokens,
                   lambda heads, tokens: 8 * heads * tokens * 64 * 64, within=(2**33, 2**36)),
    CookbookKernel("mamba_scan", "PyTorch compiled", _STATES, lambda heads, tokens: 516 * heads * tokens,
                   lambda heads, tokens: 8 * heads * tokens * 64 * 64, within=(2**33, 2**36)),
    CookbookKernel("gated_delta_rule", "PyTorch by chunks", {"heads": Span(32, 256), "tokens": Span(512, 8192, 64)},
                   lambda heads, tokens: heads * (1032 * tokens + 65536),
                   lambda heads, tokens: 2 * heads * tokens * (10 * 64 * 64 + 5 * 64 * 128 + 3 * 128 * 128),
                   within=(2**33, 2**38)),
    CookbookKernel("block_sparse_attention", "FlexAttention compiled",
                   {"heads": Span(8, 64), "tokens": Span(2048, 16384, 128), "most": Span(4, 16)},
                   lambda heads, tokens, most: 512 * heads * tokens + 4 * heads * (tokens // 128) * (most + 1),
                   lambda heads, tokens, most: 4 * heads * tokens * most * 128 * 64, within=(2**34, 2**39)),
    CookbookKernel("sparse_mla", "PyTorch by gathered rows",
                   {"batches": Span(1, 4), "queries": Span(64, 1024), "heads": Span(16, 128, 16),
                    "keys": Span(4096, 65536), "top": Span(512, 2048, 64)},
                   lambda batches, queries, heads, keys, top:
                   batches * (queries * heads * 2180 + keys * 1152 + 4 * queries * top),
                   lambda batches, queries, heads, keys, top: 2 * batches * queries * heads * top * (576 + 512),
                   within=(2**34, 2**39)),
    CookbookKernel("selected_attention", "PyTorch by gathered blocks",
                   {"queries": Span(256, 4096), "keys": Span(4096, 65536, 64), "kvheads": Span(1, 8), "group": Span(4, 16),
                    "blocks": Span(8, 32)},
                   lambda queries, keys, kvheads, group, blocks:
                   kvheads * (512 * queries * group + 512 * keys + 4 * queries * blocks),
                   lambda queries, keys, kvheads, group, blocks: 4 * queries * kvheads * group * blocks * 64 * 128,
                   within=(2**32, 2**36)),
    _copied("masked_decode", {"batches": Span(1, 128), "kvheads": Span(4, 16), "group": Span(1, 16), "keys": Span(2048, 131072)},
            lambda batches, kvheads, group, keys, splits: batches * kvheads * (513 * keys + 512 * group),
            derived={"splits": _splits}, constants=("splits",)),
    CookbookKernel("convolution", "cuDNN", {"images": Span(8, 256), "width": OneOf((7, 13, 14, 28, 56, 100, 112)),
                                            "channels": Span(64, 512, 64), "filters": Span(64, 512, 64), "stride": OneOf((1, 2))},
                   lambda channels, filters, **sizes: 2 * (sizes["images"] * sizes["width"] ** 2 * channels
                                                           + _pixels(**sizes) * filters + 9 * channels * filters),
                   lambda channels, filters, **sizes: 18 * _pixels(**sizes) * channels * filters,
                   {"height": lambda width, **_: width,
                    "columns": lambda channels, filters, **sizes: _columns(_pixels(**sizes), filters, 9 * channels,
                                                                           widths=(256, 192, 128, 64))},
                   (2**35, 2**39), ("columns", "stride")),
    _copied("fft", {"rows": Span(2048, 32768)}, lambda rows: 49152 * rows),
    CookbookKernel("top_k", "torch.topk", {"rows": Span(16, 4096), "n": Span(8192, 262144), "count": OneOf((8, 16, 64))},
                   lambda rows, n, count: 4 * rows * n + 8 * rows * count, lambda rows, n, count: rows * n,
                   within=(2**23, 2**28)),
    CookbookKernel("radix_sort", "torch.sort", {"rows": Span(1, 512), "n": Span(2**14, 2**20)},
                   lambda rows, n: 12 * rows * n, lambda rows, n: 8 * rows * n, within=(2**25, 2**29)),
    _copied("fp8_quantize", {"groups": Span(2**18, 2**22)}, lambda groups: groups * (256 + 128 + 4)),
]
