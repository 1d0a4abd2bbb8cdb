# SPDX-License-Identifier: Apache-2.0
"""The softmax of rows against a copy of as many bytes and PyTorch's."""

import math

import torch

from measure import Case, DTYPES, ROUNDING, compare, programs
from shapes import random_rows

SOFTMAX_SHAPES = [  # rows, columns
    (65536, 128),
    (16384, 1024),
    (8192, 4096),
    (4096, 8192),
    (1024, 50257),
    (256, 262144),
]


def softmax_case(library, options, rows, columns):
    """Contiguous rows. As many tensors take turns as do not fit L2 together."""
    dtype = DTYPES[options.dtype]
    size = rows * columns
    count = max(1, math.ceil(60e6 / (size * torch.empty((), dtype=dtype).element_size())))
    pairs = [(torch.randn(rows, columns, device="cuda").mul_(4).to(dtype), torch.empty(rows, columns, device="cuda", dtype=dtype))
             for _ in range(min(count, 64))]
    parameters = {"rows": rows, "columns": columns, "dtype": options.dtype}
    made = [programs(library, "softmax", parameters, pair, options) for pair in pairs]
    ours = [launch for launch, _ in made]
    others = {name: [other[name] for _, other in made] for name in made[0][1]}

    def torch_softmax(x, y):
        return lambda: torch.softmax(x, -1, out=y)

    def torch_copy(x, y):
        return lambda: y.copy_(x)

    peers = {"copy": [torch_copy(*pair) for pair in pairs], "torch": [torch_softmax(*pair) for pair in pairs]}

    def check():
        x, y = pairs[0]
        y.fill_(math.nan)
        ours[0]()
        worst = 0.0
        for first in range(0, rows, max(1, 2**24 // columns)):
            part = slice(first, first + max(1, 2**24 // columns))
            expected = x[part].double().softmax(-1)
            worst = max(worst, compare(y[part], expected, ROUNDING[options.dtype] + 2e-5, 1e-7))
        return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}

    line = {"kernel": "softmax", **parameters, "bytes": 2 * size * pairs[0][0].element_size()}
    return Case(line, 5 * size, ours, peers, check, others)


def softmax_cases(library, options):
    drawn = random_rows(options.random, options.seed) if options.random else []
    for rows, columns in options.shape or drawn or SOFTMAX_SHAPES:
        yield softmax_case(library, options, rows, columns)
