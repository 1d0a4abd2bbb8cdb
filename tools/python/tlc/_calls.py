# SPDX-License-Identifier: Apache-2.0
"""What calls of all kernels have in common: from tensors and options to a launch."""

import sys
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from . import _arrays as arrays
from . import _devices as devices
from . import _programs as programs
from ._arrays import FRAMEWORKS, Array, Framework
from ._exchange import EXCHANGES, Exchange, Repeat
from ._interface import Error
from ._programs import Bound, Kernel, Option, Plan, Plans, Problem

#: The modules `_torch` and `_gradients`, from the first time that PyTorch is there.
TORCH: Any = None
GRADIENTS: Any = None
#: Whether torch.compile reads a call: PyTorch's function, once it is there.
is_tracing: Callable[[], bool] = lambda: False


def torch_route(tensor):
    """What calls PyTorch's tensors, which have gradients and graphs; None for others."""
    global TORCH, GRADIENTS, is_tracing
    if TORCH is None:
        if "torch" not in sys.modules:
            return None
        from . import _gradients, _torch
        TORCH, GRADIENTS, is_tracing = _torch, _gradients, _torch.is_compiled
    return TORCH if isinstance(tensor, TORCH.TENSOR) else None


Given = Dict[str, Any]
Arrays = Dict[str, Array]


def exchange_of(objects: Iterable[Any]) -> Optional[Exchange]:
    """Of the library of the first tensor."""
    return next((EXCHANGES.get(type(one)) for one in objects if one is not None), None)


def wants_gradient(objects: Sequence[Any]) -> bool:
    """Whether a tensor of PyTorch among these requires a gradient here."""
    for one in objects:
        if one is not None and getattr(one, "requires_grad", False):
            torch_route(one)
            return TORCH is not None and TORCH.is_grad_enabled()
    return False


def refuse_gradients(call: str, names: Iterable[str], objects: Sequence[Any], alternative: str) -> None:
    if wants_gradient(objects):
        name = next(name for name, one in zip(names, objects) if getattr(one, "requires_grad", False))
        raise Error(f"{call}: argument '{name}' requires a gradient, which this call does not have; pass {name}.detach(), call it under "
                    f"torch.no_grad(), or {alternative}")


def refuse_others(call: str, names: Iterable[str], objects: Iterable[Any]) -> None:
    """In a call with gradients, which are of tensors of PyTorch alone."""
    for name, one in zip(names, objects):
        if one is not None and not isinstance(one, TORCH.TENSOR):
            raise Error(f"{call}: argument '{name}': expected a tensor of PyTorch because another one requires a gradient, but got "
                        f"{type(one).__module__.partition('.')[0]}.{type(one).__name__}; convert it, as by torch.from_dlpack, or call it under "
                        "torch.no_grad()")


def refuse_mixture(call: str, names: Iterable[str], objects: Sequence[Any]) -> None:
    """Of tensors of which the first one is not PyTorch's."""
    if wants_gradient(objects):
        refuse_others(call, names, objects)


def option_key(options: Dict[str, Any]) -> tuple:
    """In the order in which they are given, of which another one takes another plan."""
    return tuple([(name, tuple(value) if isinstance(value, list) else value) for name, value in options.items()])


class Call:
    """A kind of calls. A derived class says by `solve` what a call on given tensors is."""

    name: str
    #: The kernel whose parameters are the options.
    kernel_name: str
    #: Parameters that follow from tensors.
    derived: frozenset = frozenset()

    #: The tensors of a call, in the order in which `launch` takes them.
    tensors: Tuple[str, ...]

    def __init__(self):
        self._plans: Plans[Plan] = Plans()
        self._repeats: Plans[Repeat] = Plans()
        self._last: Optional[Tuple[tuple, Dict[str, Any], Repeat]] = None

    @property
    def options(self) -> Tuple[Option, ...]:
        """What may be given by name beside tensors, as `tlc list` has it."""
        return tuple(option for option in self.kernel(self.kernel_name).options if option.name not in self.derived)

    @staticmethod
    def kernel(name: str) -> Kernel:
        return programs.our_kernels()[name]

    def solve(self, device: devices.Device, given: Arrays, options: Dict[str, Any], settings: tuple) -> Problem:
        raise NotImplementedError

    def plan(self, given: Given, options: Dict[str, Any], settings: tuple) -> Tuple[Plan, List[int], Framework, List[Any]]:
        """Of a call on tensors by the names of its arguments, those that are None left out: a plan, the tensors' addresses, the
        library that makes results, and what keeps the memory. A call like an earlier one reads its tensors and looks up its plan."""
        framework: Optional[Framework] = None
        parts: List[Any] = [settings, option_key(options) if options else (), devices.chosen_serial()]
        addresses, owners = [], []
        for name, one in given.items():
            if one is not None:
                own = FRAMEWORKS.get(type(one)) or arrays.framework_of(one, name)
                key, address, owner = own.read(one, name)
                parts += name, key
                addresses.append(address)
                owners.append(owner)
                if framework is None:
                    framework = own if own is not arrays.OURS else arrays.maker_of(one, own)
        kind = tuple(parts)
        plan = self._plans.get(kind)
        if plan is None:
            plan = self._plans.keep(kind, self._solved(given, options, settings))
        assert framework is not None  # some tensor is given
        return plan, addresses, framework, owners

    def _solved(self, given: Given, options: Dict[str, Any], settings: tuple) -> Plan:
        found = {name: arrays.describe(one, name) for name, one in given.items() if one is not None}
        device = devices.device_of(found)
        for name in options:
            if name in self.derived:
                raise Error(f"{self.name}: expected '{name}' to follow from the tensors, but it is given, too")
        plan, names = Plan(self.solve(device, found, options, settings)), list(found)
        for name in [names[source] for source in plan.written]:
            if found[name].is_read_only:
                raise Error(f"{self.name}: argument '{name}': expected memory that may be written, but got {found[name]}, which is read-only")
        return plan

    def launch(self, objects: tuple, options: Dict[str, Any], settings: tuple) -> Sequence[Any]:
        """Launches on tensors in the order of `tensors`, of which some are None, and returns the tensors that it makes."""
        made = self.again(objects, options, settings)
        return made if made is not None else self.anew(objects, options, settings)

    def anew(self, objects: tuple, options: Dict[str, Any], settings: tuple) -> Sequence[Any]:
        return self.work_out(objects, (settings, *option_key(options)), dict(zip(self.tensors, objects)), options, settings)[1]

    def again(self, objects: tuple, options: Dict[str, Any], settings: tuple) -> Any:
        """What a launch like an earlier one makes, or None where there is none or where more has to be done. It is found by the shapes
        of the first two tensors, by whether there is an `out`, the last one, and by options, and compares all else. The last one is tried first: without its key, of which shapes
        and hashes are most."""
        if is_tracing():
            return None
        last = self._last
        if last is not None:
            try:
                is_like = last[0] == settings and last[1] == options
            except Exception:  # of what does not compare, such as a tensor among options
                is_like = False
            if is_like:
                repeat = last[2]
                made = repeat.call(objects)
                if made is not None:
                    return made if repeat.finish is None else repeat.finish(objects, made)
        return self._found(objects, options, settings)

    def _found(self, objects: tuple, options: Dict[str, Any], settings: tuple) -> Any:
        first, second = objects[0], objects[1]
        if type(first) not in EXCHANGES:
            return None
        try:
            repeat = self._repeats.get((first.shape, None if second is None else second.shape, objects[-1] is None, settings, *options.items()))
        except (AttributeError, TypeError):  # what has no shape, a list among options
            return None
        if repeat is None or (self._last is not None and repeat is self._last[2]):
            return None
        made = repeat.call(objects)
        if made is None:
            return None
        self._last = settings, options, repeat
        return made if repeat.finish is None else repeat.finish(objects, made)

    def forget(self) -> None:
        """All earlier calls."""
        self._plans.plans.clear()
        self._repeats.plans.clear()
        self._last = None

    def finish(self, plan: Plan) -> Optional[Callable[[tuple, Sequence[Any]], Any]]:
        """What makes the result of `again` of tensors that are given and made, where it is not the latter."""
        return None

    def work_out(self, objects: tuple, key: Optional[tuple], given: Given, options: Dict[str, Any],
                 settings: tuple) -> Tuple[Plan, List[Any]]:
        """A launch of which nothing is known. `again` finds it by the key and shapes, if the objects are all that is given."""
        plan, addresses, framework, owners = self.plan(given, options, settings)
        made = plan.run(addresses, framework)
        del owners  # until here
        if plan.written:
            tensors = [one for one in given.values() if one is not None]
            for note, tensor in arrays.counted([tensors[source] for source in plan.written]):
                note(tensor)
        exchange = exchange_of(objects)
        if key is not None and exchange is not None and plan.device.number != arrays.CPU:
            repeat = plan.repeated(exchange, objects, addresses, made, framework, self.finish(plan))
            if repeat is not None:
                first, second = objects[0], objects[1]
                self._repeats.keep((first.shape, None if second is None else second.shape, objects[-1] is None, *key), repeat)
        return plan, made

    def values(self, kernel: Kernel, derived: Dict[str, Any], options: Dict[str, Any]) -> Dict[str, str]:
        """Parameters of the kernel: those that follow from tensors, and options."""
        return {**{name: programs.text_of(value, None) for name, value in derived.items()}, **programs.texts_of(kernel, options, self.name)}

    def mistake(self, text: str) -> Error:
        return Error(f"{self.name}: {text}")


def is_aligned(array: Array, bits: int = 128) -> bool:
    """Whether its address and the strides of all axes but the last are multiples of so many bits, or it has no elements."""
    return 0 in array.shape or (8 * array.data % bits == 0 and all(stride * array.element.bits % bits == 0
                                                                   for extent, stride in zip(array.shape[:-1], array.strides[:-1]) if extent > 1))


def check_rank(call: str, name: str, array: Array, axes: Sequence[str]) -> None:
    if len(array.shape) != len(axes):
        raise Error(f"{call}: argument '{name}': expected {len(axes)} axes, {' x '.join(axes)}, but got {array}")


def check_out(call: str, out: Optional[Array], shape: Sequence[int]) -> None:
    if out is not None and out.shape != tuple(shape):
        raise Error(f"{call}: argument 'out': expected the shape {tuple(shape)}, but got {out}")


def bound_of(plan: Plan, addresses: List[int], given: Given, owners: List[Any], framework: Framework) -> Bound:
    tensors = [one for one in given.values() if one is not None]
    return Bound(plan, addresses, tensors, owners, framework, exchange_of(tensors))


def bind(call: Call, given: Given, options: Dict[str, Any], settings: tuple) -> Bound:
    refuse_gradients(f"{call.name}.bind", given, list(given.values()), f"use tlc.{call.name} itself")
    plan, addresses, framework, owners = call.plan(given, options, settings)
    return bound_of(plan, addresses, given, owners, framework)
