# SPDX-License-Identifier: Apache-2.0
"""What a kernel of the cookbook is timed on: its tensors, what they must become, and peers."""

import functools
import math
from dataclasses import dataclass, field
from typing import Callable

import torch

from measure import ROUNDING, compare

BF16, F32 = ROUNDING["bf16"] * 1.02, ROUNDING["f32"]  # with room for what was rounded before
UNWRITTEN = -77  # of integers, which no kernel of the cookbook writes


@dataclass
class Check:
    """Part of an output and what it must be, but for `rounding` of that and `absolute`."""

    actual: Callable[[], torch.Tensor]
    expected: torch.Tensor  # in double precision; int64 where both must be equal
    rounding: float = 0.0
    absolute: object = 0.5  # of integers: equal

    def error(self):
        return compare(self.actual(), self.expected.double(), self.rounding, self.absolute)


@dataclass
class Problem:
    tensors: tuple  # in the order in which the kernel declares them
    outputs: tuple  # those that it writes
    checks: Callable[[], list]  # called once, before any launch
    peers: dict = field(default_factory=dict)  # name -> launch
    substitutes: dict = field(default_factory=dict)  # peers where none of those runs
    initial: float = math.nan  # of float outputs

    def __post_init__(self):
        self.expected = None

    def reset(self):
        for output in self.outputs:
            if output.dtype == torch.float8_e4m3fn:
                output.view(torch.uint8).fill_(127)  # NaN
            else:
                output.fill_(self.initial if output.is_floating_point() else UNWRITTEN)

    def largest_error(self, launch):
        """In units of what is allowed; infinite where an output is not finite, or was not written."""
        self.expected = self.expected or self.checks()
        self.reset()
        launch()
        for output in self.outputs:
            is_written = output.isfinite() if output.dtype.is_floating_point and output.element_size() > 1 else None
            if is_written is not None and not is_written.all():
                return math.inf
        return max(check.error() for check in self.expected)


class Make:
    """Tensors with random contents."""

    def __init__(self, device):
        self.device = device

    def normal(self, *shape, dtype=torch.bfloat16, scale=1.0):
        return (torch.randn(*shape, device=self.device) * scale).to(dtype)

    def uniform(self, low, high, *shape, dtype=torch.float32):
        return (torch.rand(*shape, device=self.device) * (high - low) + low).to(dtype)

    def integers(self, low, high, *shape, dtype=torch.int32):
        """From `low` to before `high`."""
        return torch.randint(low, high, shape, device=self.device, dtype=dtype)

    def empty(self, *shape, dtype=torch.bfloat16):
        return torch.empty(*shape, device=self.device, dtype=dtype)

    def some(self, extent, most=256):
        """Different positions before `extent`, the first and the last among them."""
        if extent <= most:
            return torch.arange(extent, device=self.device)
        return torch.cat([torch.randint(0, extent, (most - 2,), device=self.device),
                          torch.tensor([0, extent - 1], device=self.device)]).unique()


def copy_of(make, count):
    """A launch that reads and writes `count` bytes in all, rounded up: in a CUDA graph sizes that are no multiples of
    4096 are copied at two thirds of the rate."""
    source = make.empty(-(-count // 8192) * 4096, dtype=torch.uint8)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


@functools.cache
def compiled(function):
    """By torch.compile, once for all sizes."""
    return torch.compile(function, dynamic=True)
