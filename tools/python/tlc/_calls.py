# SPDX-License-Identifier: Apache-2.0
"""What calls of all kernels have in common: from tensors and options to a launch."""

import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _arrays as arrays
from . import _devices as devices
from . import _programs as programs
from ._arrays import Array, Framework
from ._interface import Error
from ._programs import Bound, Kernel, Option, Plan, Plans, Problem

#: The module `_torch`, from the first time that PyTorch is there.
TORCH: Any = None


def torch_route(tensor):
    """What calls PyTorch's tensors, which have gradients and graphs; None for others."""
    global TORCH
    if TORCH is None:
        if "torch" not in sys.modules:
            return None
        from . import _torch
        TORCH = _torch
    return TORCH if isinstance(tensor, TORCH.TENSOR) else None


Given = Dict[str, Any]
Arrays = Dict[str, Array]


def option_key(options: Dict[str, Any]) -> tuple:
    return tuple(sorted((name, value if not isinstance(value, list) else tuple(value)) for name, value in options.items())) if options else ()


class Call:
    """A kind of calls. A derived class says by `solve` what a call on given tensors is."""

    name: str
    #: The kernel whose parameters are the options.
    kernel_name: str
    #: Parameters that follow from tensors.
    derived: frozenset = frozenset()

    def __init__(self):
        self._plans = Plans()

    @property
    def options(self) -> Tuple[Option, ...]:
        """What may be given by name beside tensors, as `tlc list` has it."""
        return tuple(option for option in self.kernel(self.kernel_name).options if option.name not in self.derived)

    @staticmethod
    def kernel(name: str) -> Kernel:
        return programs.our_kernels()[name]

    def solve(self, device: devices.Device, given: Arrays, options: Dict[str, Any], settings: tuple) -> Problem:
        raise NotImplementedError

    def plan(self, given: Given, options: Dict[str, Any], settings: tuple) -> Tuple[Plan, List[Array], Framework]:
        """Of a call on tensors by the names of its arguments, those that are None left out."""
        framework: Optional[Framework] = None
        found: Arrays = {}
        parts: List[Any] = [settings, option_key(options)]
        for name, one in given.items():
            if one is not None:
                own = arrays.framework_of(one, name)
                framework = framework or arrays.maker_of(one, own)
                array = own.describe(one, name)
                if array.element.number < 0:
                    array = arrays.describe(one, name)
                found[name] = array
                parts.append(name)
                parts.append(array.key())
        device = devices.device_of(found)
        assert framework is not None  # some tensor is given
        parts.append(device.serial)
        key = tuple(parts)
        plan = self._plans.get(key)
        if plan is None:
            for name in options:
                if name in self.derived:
                    raise Error(f"{self.name}: expected '{name}' to follow from the tensors, but it is given, too")
            plan = self._plans.keep(key, Plan(self.solve(device, found, options, settings)))
        return plan, list(found.values()), framework

    def values(self, kernel: Kernel, derived: Dict[str, Any], options: Dict[str, Any]) -> Dict[str, str]:
        """Parameters of the kernel: those that follow from tensors, and options."""
        return {**{name: programs.text_of(value, None) for name, value in derived.items()}, **programs.texts_of(kernel, options, self.name)}

    def mistake(self, text: str) -> Error:
        return Error(f"{self.name}: {text}")


def is_aligned(array: Array) -> bool:
    """Whether its address and the strides of all axes but the last are multiples of 16 bytes, or it has no elements."""
    return 0 in array.shape or (array.data % 16 == 0 and all(stride * array.element.bits % 128 == 0
                                                             for extent, stride in zip(array.shape[:-1], array.strides[:-1]) if extent > 1))


def check_rank(call: str, name: str, array: Array, axes: Sequence[str]) -> None:
    if len(array.shape) != len(axes):
        raise Error(f"{call}: argument '{name}': expected {len(axes)} axes, {' x '.join(axes)}, but got {array}")


def check_out(call: str, out: Optional[Array], shape: Sequence[int]) -> None:
    if out is not None and out.shape != tuple(shape):
        raise Error(f"{call}: argument 'out': expected the shape {tuple(shape)}, but got {out}")


def bind(call: Call, given: Given, options: Dict[str, Any], settings: tuple) -> Bound:
    plan, found, framework = call.plan(given, options, settings)
    return Bound(plan, found, given, framework)
