# SPDX-License-Identifier: Apache-2.0
"""What tests of the Python package have in common."""

import contextlib
import math
import os
import random
import sys
import unittest
import unittest.mock

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "tools", "python")]  # of an archive for a GPU, and of the sources

import tlc  # noqa: E402

if "TLC_TEST_LIBRARY" in os.environ:
    tlc.use_library(os.environ["TLC_TEST_LIBRARY"])

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

needs_numpy = unittest.skipIf(numpy is None, "NumPy is not installed")
needs_torch = unittest.skipIf(torch is None, "PyTorch is not installed")


class Foreign:
    """A tensor of another library, which has nothing but DLPack."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()

    def __dlpack__(self, stream=None):
        return self._tensor.__dlpack__(stream)


def numbers(seed, *shape):
    """Nested lists of numbers that f16 and bf16 have."""
    draw = random.Random(seed)

    def make(axis):
        if axis == len(shape):
            return draw.randint(-8, 8) / 8
        return [make(axis + 1) for _ in range(shape[axis])]

    return make(0)


def attention(q, k, v, sees=lambda i, j: True, scale=None, sink=None):
    """O and LSE of one head, from lists of rows."""
    scale = scale or 1 / math.sqrt(len(q[0]))
    rows, sums = [], []
    for i, row in enumerate(q):
        scores = {j: scale * sum(a * b for a, b in zip(row, key)) for j, key in enumerate(k) if sees(i, j)}
        largest = max([*scores.values(), *([sink] if sink is not None else [])], default=0)
        weights = {j: math.exp(score - largest) for j, score in scores.items()}
        total = sum(weights.values()) + (math.exp(sink - largest) if sink is not None else 0)
        rows.append([sum(weight * v[j][c] for j, weight in weights.items()) / total if total else 0.0 for c in range(len(v[0]))])
        sums.append(largest + math.log(total) if total else -math.inf)
    return rows, sums


def head(tensor, b, h):
    """Rows of a head of nested lists b x s x h x d."""
    return [row[h] for row in tensor[b]]


def flat(nested):
    if not isinstance(nested, list):
        return [nested]
    return [number for one in nested for number in flat(one)]


def attend(q, k, v, o):
    """A process of a test."""
    tlc.attention(q, k, v, out=o)
    if o.is_cuda:
        torch.cuda.synchronize()


@contextlib.contextmanager
def launches_worked_out():
    """Which calls were worked out in Python, which is all but those that repeat others."""
    found, plain = [], tlc._calls.Call.work_out

    def work_out(self, *given):
        found.append(self.name)
        return plain(self, *given)

    with unittest.mock.patch.object(tlc._calls.Call, "work_out", work_out):
        yield found


class Case(unittest.TestCase):
    def close(self, actual, expected, limit=2e-2):
        actual, expected = flat(actual), flat(expected)
        self.assertEqual(len(actual), len(expected))
        for a, e in zip(actual, expected):
            if a != e:
                self.assertLessEqual(abs(a - e), limit * max(1, abs(e)), f"{a} instead of {e}")

    def refused(self, text, call, kind=None):
        """The call raises tlc.Error with this part of its text."""
        with self.assertRaises(tlc.Error) as caught:
            call()
        self.assertIn(text, caught.exception.text)
        if kind is not None:
            self.assertEqual(caught.exception.kind, kind)
        return caught.exception
