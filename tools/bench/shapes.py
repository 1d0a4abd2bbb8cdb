# SPDX-License-Identifier: Apache-2.0
"""Shapes that nobody tuned for: drawn at random from a seed, and those of models. Without PyTorch."""

import math
import random
from dataclasses import dataclass

TOKENS = (1, 4, 16, 64, 100, 256, 1000, 2048, 8192)

# Columns of C and the length of a row of A, by model and matrix. Query, key and value are one matrix, gate and up another.
MATRICES = {
    "llama-8b": {"qkv": (6144, 4096), "o": (4096, 4096), "gate_up": (28672, 4096), "down": (4096, 14336)},
    "llama-70b": {"qkv": (10240, 8192), "o": (8192, 8192), "gate_up": (57344, 8192), "down": (8192, 28672)},
    "qwen2.5-7b": {"qkv": (4608, 3584), "o": (3584, 3584), "gate_up": (37888, 3584), "down": (3584, 18944)},
    "qwen3-32b": {"qkv": (10240, 5120), "o": (5120, 8192), "gate_up": (51200, 5120), "down": (5120, 25600)},
    "deepseek-v3": {"q_a": (1536, 7168), "q_b": (24576, 1536), "kv_a": (576, 7168), "kv_b": (32768, 512),
                    "o": (7168, 16384), "gate_up": (36864, 7168), "down": (7168, 18432),
                    "expert_gate_up": (4096, 7168), "expert_down": (7168, 2048)},
    "gpt-oss-120b": {"qkv": (5120, 2880), "o": (2880, 4096), "expert_gate_up": (5760, 2880),
                     "expert_down": (2880, 2880)},
}


@dataclass(frozen=True)
class GemmShape:
    m: int
    n: int
    k: int
    name: str = ""


@dataclass(frozen=True)
class AttentionShape:
    """Of Q, b x sq x h x d, of K, b x sk x hkv x d, and of V, whose rows have `dv` elements, d unless given."""

    b: int
    sq: int
    sk: int
    h: int
    hkv: int
    d: int
    causal: bool
    name: str = ""
    dv: int = 0

    def __post_init__(self):
        if not self.dv:
            object.__setattr__(self, "dv", self.d)

    def pairs(self, alignment):
        """Queries and keys that they see, of one head. The alignment of causal attention is left, where query i sees
        keys 0 to i, or right, where the last query sees all keys."""
        if not self.causal:
            return self.sq * self.sk
        ahead = self.sk - self.sq if alignment == "right" else 0
        # Query i sees clamp(i + 1 + ahead, 0, sk) keys: 1, 2, ... from the query `first` on, and all of them after.
        first = max(0, -ahead)
        rising = max(0, min(self.sq, self.sk - ahead) - first)
        least = first + 1 + ahead
        return rising * (2 * least + rising - 1) // 2 + max(0, self.sq - first - rising) * self.sk


def log_uniform(draw, lowest, highest):
    """Any number of the range; as many between n and 2n for every n."""
    return min(highest, int(math.exp(draw.uniform(math.log(lowest), math.log(highest + 1)))))


def drawn(shapes, options):
    """With --models N: N of them, drawn by --seed; with --models alone: all."""
    return random.Random(options.seed).sample(shapes, options.models) if 0 < options.models < len(shapes) else shapes


def random_gemms(count, seed):
    """m, n and k from 1 to 16384, each on its own: half of them multiples of 8, a quarter even; at most 2^40
    multiplications."""
    draw = random.Random(seed)

    def extent():
        step = draw.choice((8, 8, 2, 1))
        return max(step, log_uniform(draw, 1, 16384) // step * step)

    shapes = []
    while len(shapes) < count:
        m, n, k = extent(), extent(), extent()
        if m * n * k <= 2**40:
            shapes.append(GemmShape(m, n, k))
    return shapes


def uniform_gemms(count, seed):
    """m, n and k are multiples of 8 from 8 to 8192, all of them equally likely: most shapes are large and ragged."""
    draw = random.Random(seed)
    return [GemmShape(*(8 * draw.randint(1, 1024) for _ in range(3))) for _ in range(count)]


def model_gemms():
    return [GemmShape(tokens, n, k, f"{model} {matrix}") for model, matrices in MATRICES.items()
            for matrix, (n, k) in matrices.items() for tokens in TOKENS]


def random_rows(count, seed):
    """Rows and columns, a third of these multiples of 8, a third even; 2^20 to 2^27 elements, rows of 8 to 262144."""
    draw = random.Random(seed)
    shapes = []
    while len(shapes) < count:
        step = draw.choice((8, 2, 1))
        columns = log_uniform(draw, 8, 262144) // step * step
        shapes.append((max(1, log_uniform(draw, 2**20, 2**27) // columns), columns))
    return shapes


def random_attention(count, seed, lengths, sizes):
    """sq and sk from a range, d one of `sizes`, groups of 1 to 16 heads, causal or not (with sq <= sk); 2^30 to 2^37
    pairs of queries and keys times elements of a row, over all heads."""
    draw = random.Random(seed)
    shapes = []
    while len(shapes) < count:
        sq, sk = log_uniform(draw, *lengths), log_uniform(draw, *lengths)
        causal = draw.random() < 0.5
        if causal and sq > sk:
            sq, sk = sk, sq
        d, group = draw.choice(sizes), draw.choice((1, 1, 2, 4, 8, 16))
        hkv, b = log_uniform(draw, 1, 16), log_uniform(draw, 1, 64)
        if 2**30 <= b * hkv * group * sq * sk * d <= 2**37:
            shapes.append(AttentionShape(b, sq, sk, hkv * group, hkv, d, causal))
    return shapes


def random_forward(count, seed):
    return random_attention(count, seed, (1, 32768), (32, 40, 64, 72, 80, 96, 112, 128, 160, 192, 256))


def random_backward(count, seed):
    return random_attention(count, seed, (64, 16384), (40, 64, 80, 96, 128, 192, 256))


def model_forward():
    square = [  # b, s, h, hkv, d, causal
        ("vit-l", 64, 197, 16, 16, 64, False), ("vit-h", 32, 257, 16, 16, 80, False),
        ("bert-base", 32, 128, 12, 12, 64, False), ("bert-base", 32, 512, 12, 12, 64, False),
        ("stable-diffusion-1.5", 2, 4096, 8, 8, 40, False), ("stable-diffusion-1.5", 2, 1024, 8, 8, 80, False),
        ("stable-diffusion-xl", 2, 4096, 10, 10, 64, False), ("dit-xl", 32, 256, 16, 16, 72, False),
        ("llama-8b", 1, 512, 32, 8, 128, True), ("llama-8b", 1, 2048, 32, 8, 128, True),
        ("llama-8b", 1, 8192, 32, 8, 128, True), ("llama-70b", 1, 4096, 64, 8, 128, True),
        ("gemma-2-9b", 1, 4096, 16, 8, 256, True), ("gpt-oss-120b", 1, 4096, 64, 8, 64, True),
        ("hunyuan-video", 1, 32760, 24, 24, 128, False), ("wan-14b", 1, 75600, 40, 40, 128, False),
    ]
    shapes = [AttentionShape(b, s, s, h, hkv, d, causal, name) for name, b, s, h, hkv, d, causal in square]
    shapes += [AttentionShape(2, s, 77, h, h, d, False, f"{name} cross")
               for name, s, h, d in (("stable-diffusion-1.5", 4096, 8, 40), ("stable-diffusion-xl", 4096, 10, 64))]
    shapes += [AttentionShape(1, sq, sk, 32, 8, 128, True, "llama-8b chunk")
               for sq, sk in ((128, 8192), (512, 32768), (2048, 131072))]
    return shapes + [AttentionShape(b, 1, sk, 32, 8, 128, False, "llama-8b decode")
                     for b, sk in ((1, 8192), (16, 4096), (64, 8192))]


def model_backward():
    return [AttentionShape(b, s, s, h, hkv, d, causal, name) for name, b, s, h, hkv, d, causal in (
        ("vit-l", 64, 197, 16, 16, 64, False), ("vit-h", 32, 257, 16, 16, 80, False),
        ("bert-base", 32, 512, 12, 12, 64, False), ("gpt-2", 16, 1024, 12, 12, 64, True),
        ("llama-8b", 1, 2048, 32, 8, 128, True), ("llama-8b", 1, 8192, 32, 8, 128, True),
        ("llama-70b", 1, 8192, 64, 8, 128, True), ("qwen2.5-7b", 2, 4096, 28, 4, 128, True),
        ("gemma-2-9b", 1, 8192, 16, 8, 256, True), ("gpt-oss-120b", 1, 8192, 64, 8, 64, True),
        ("stable-diffusion-1.5", 8, 4096, 8, 8, 40, False), ("dit-xl", 32, 256, 16, 16, 72, False),
        ("wan-14b", 1, 16384, 40, 40, 128, False))]
