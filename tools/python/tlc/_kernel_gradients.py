# SPDX-License-Identifier: Apache-2.0
"""Gradients of kernels by name for plain tensors of PyTorch.

A kernel NAME has gradients if there is a kernel NAME_bwd, of the cookbook or of the same file, whose tensors have the names of those
of NAME: inputs X and results Y that it reads, the gradient dY of a result, and the gradient dX that it computes for an input."""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import torch

from . import _arrays as arrays
from . import _calls as calls
from . import _devices as devices
from . import _programs as programs
from ._interface import Error
from ._programs import INOUT, INPUT, OUTPUT, Argument, Extent
from ._torch import DTYPES, apply_of, is_compiling, is_plain, refuse_second_derivatives

GIVEN, RESULT, GRADIENT, ZEROS = range(4)
#: Kernels that are their own gradient with dY for X, and the options that change for it.
_OWN: Dict[str, Dict[str, Dict[str, str]]] = {"dropout": {}, "rotary": {"direction": {"forward": "backward", "backward": "forward"}}}
_PRODUCTS = ("gemm", "gemm_gelu", "batched_gemm", "stream_k_gemm", "gemv")


class Rule(NamedTuple):
    """How one kernel computes the gradients of another."""

    backward: Any  # an Op
    tensors: Tuple[Tuple[int, str], ...]  # in its order: what it is, and the name of the input or result that it is or belongs to
    options: Dict[str, Any]
    numbers: frozenset
    gradients: Dict[str, str]  # by the input: which result is its gradient
    has_gradient: frozenset  # results
    sums: Dict[str, Any] = {}  # by the input: the type of a gradient that the kernel adds to


def _alternative(op: Any) -> str:
    if not op.siblings._is_ours:
        return f"add a kernel {op.name}_bwd to its file (docs/python.md)"
    if op.name in _PRODUCTS:
        return "use tlc.gemm"
    return "use tlc.attention" if "attention" in op.name or op.name in ("sparse_mla", "masked_decode") else "use PyTorch's functions"


def _refused(op: Any, name: str, because: str) -> Error:
    return Error(f"{op.name}: argument '{name}' requires a gradient, but {because}; pass {name}.detach(), call it under torch.no_grad(), or "
                 f"{_alternative(op)}")


def _of_kernel_bwd(op: Any, backward: Any, signature: Sequence[Argument], theirs: Sequence[Argument], options: Dict[str, Any]) -> Rule:
    inputs = {one.name for one in signature if one.shape is not None and one.access != OUTPUT}
    results = {one.name for one in signature if one.shape is not None and one.access != INPUT}
    tensors: List[Tuple[int, str]] = []
    gradients: Dict[str, str] = {}
    for name, access in [(one.name, one.access) for one in theirs if one.shape is not None]:
        of = name[1:] if name.startswith("d") else ""
        if access == INPUT and name in inputs and of in results:
            raise Error(f"{backward.name}: argument '{name}' may be an input of {op.name} or the gradient of its result '{of}'; rename the input")
        if access != INPUT and of in inputs:
            gradients[of] = name
            if access == INOUT:
                tensors.append((ZEROS, of))
        elif access == INPUT and (name in inputs or name in results):
            tensors.append((GIVEN if name in inputs else RESULT, name))
        elif access == INPUT and of in results:
            tensors.append((GRADIENT, of))
        elif access != OUTPUT:
            raise Error(f"{backward.name}: expected tensors with the names of those of {op.name}, {', '.join(sorted(inputs | results))}, or d before one, "
                        f"but got '{name}'")
    has_gradient = frozenset(name for kind, name in tensors if kind == GRADIENT)
    for found, text in ((has_gradient, f"an input with the gradient of a result, {_list_of('d' + name for name in results)}"),
                        (gradients, f"a result with the gradient of an input, {_list_of('d' + name for name in inputs)}")):
        if not found:
            raise Error(f"{backward.name}: expected {text}, because it is the gradient of {op.name}, but got none")
    _check_signature(op, backward, signature, theirs, tensors, gradients)
    sums = {one.name[1:]: DTYPES[one.element.number] for one in theirs if one.access == INOUT and one.name[1:] in gradients}
    return Rule(backward, tuple(tensors), options, frozenset(one.name for one in theirs if one.shape is None), gradients, has_gradient, sums)


def _check_signature(op: Any, backward: Any, signature: Sequence[Argument], theirs: Sequence[Argument], tensors: Sequence[Tuple[int, str]],
                     gradients: Dict[str, str]) -> None:
    """Compares ranks, types and extents with those of the tensors that they have the names of. Gradients that are computed may have other
    types: they are converted."""
    own = {one.name: one for one in signature}
    of = {**{("d" if kind == GRADIENT else "") + name: name for kind, name in tensors if kind != ZEROS},
          **{gradient: name for name, gradient in gradients.items()}}
    computed = set(gradients.values())
    extents: Dict[Any, Extent] = {}  # of dimensions of theirs: those of ours
    for one in theirs:
        if one.name not in of:
            continue
        like = own[of[one.name]]
        place = f"{backward.name}: argument '{one.name}': expected"
        axes = len(like.shape or ())
        known = f"as '{like.name}' of {op.name}"
        assert one.shape is not None and like.shape is not None
        if len(one.shape) != axes:
            raise Error(f"{place} {axes} {'axis' if axes == 1 else 'axes'}, {known}, but got {len(one.shape)}")
        if one.element != like.element and one.name not in computed:
            raise Error(f"{place} elements of {like.element.name}, {known}, but got {one.element.name}")
        for axis, (extent, expected) in enumerate(zip(one.shape, like.shape)):
            if extent.dimension is None or expected.dimension is None:
                is_same = extent == expected or extent.dimension != expected.dimension  # of a constant and any, a call tells
            else:
                is_same = _is_computed(extent) or _is_computed(expected) or extents.setdefault(extent.dimension, expected) == expected
            if not is_same:
                raise Error(f"{place} the extent {_text_of(expected)} on axis {axis}, {known}, but got {_text_of(extents.get(extent.dimension, extent))}")


def _is_computed(extent: Extent) -> bool:
    return "." in (extent.dimension or "")


def _text_of(extent: Extent) -> str:
    return extent.dimension or str(extent.constant)


def _list_of(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _rule_of(op: Any, device: devices.Device, signature: Sequence[Argument], options: Dict[str, Any]) -> Optional[Rule]:
    """`options` are those of the call, and the type that follows from its tensors."""
    if op.siblings._is_ours and op.name in _OWN:
        changed = {name: change[options.get(name, next(iter(change)))] for name, change in _OWN[op.name].items()}
        further = [(GIVEN, one.name) for one in signature if one.access == INPUT][1:]
        return Rule(op, ((GRADIENT, "Y"), *further), {**options, **changed}, frozenset(), {"X": "Y"}, frozenset(("Y",)))
    backward = op.siblings._find(f"{op.name}_bwd")
    if backward is None:
        return None
    shared = {name: value for name, value in options.items() if backward._kernel.option(name) is not None}
    theirs = backward.signature(device, programs.texts_of(backward._kernel, shared, backward.name))
    return _of_kernel_bwd(op, backward, signature, theirs, shared)


class _Launch:
    """A call: what is no tensor, and in the end what makes its named tuple."""

    def __init__(self, op: Any, given: Dict[str, Any], options: Dict[str, Any], numbers: tuple):
        self.op, self.keys, self.options, self.numbers = op, tuple(given), options, numbers
        found = {key: arrays.describe(one, key) for key, one in given.items()}
        device = devices.device_of(found)
        values = op.values_of(next(iter(found.values())), options)
        signature = op.signature(device, values)
        self.names = ["" for _ in given]  # of arguments, in the order of the tensors
        for name, (number, _) in op.assign(signature, found).items():
            self.names[number] = name
        self.written = [one.name for one in signature if one.shape is not None and one.access == OUTPUT]
        wanted = [name for name, one in zip(self.names, given.values()) if one.requires_grad]
        changed = [one.name for one in signature if one.shape is not None and one.access == INOUT]
        if changed:
            raise _refused(op, wanted[0], f"this kernel changes '{changed[0]}' in place")
        key = device.serial, tuple(sorted(values.items()))
        if key not in op.rules:
            op.rules[key] = _rule_of(op, device, signature, values)
        rule = op.rules[key]
        if rule is None:
            raise _refused(op, wanted[0], f"there is no kernel {op.name}_bwd")
        for name in wanted:
            if name not in rule.gradients:
                raise _refused(op, name, f"{rule.backward.name} computes no gradient of it")
        taken = {option.name for option in rule.backward.options} | rule.numbers
        given_numbers = [name for name in options if op._kernel.option(name).allowed.startswith("a number")] + [name for name, _ in numbers]
        for name in given_numbers:
            if name not in taken:
                raise Error(f"{rule.backward.name}: expected a number '{name}', because the call of {op.name} has one, but this kernel takes none; "
                            f"declare it, or call {op.name} under torch.no_grad()")
        self.rule: Rule = rule
        self.make: Any = None

    def forward(self, tensors: tuple) -> tuple:
        positions = sum(key.isdigit() for key in self.keys)
        named = dict(zip(self.keys[positions:], tensors[positions:]))
        found = self.op(*tensors[:positions], **named, **self.options, **dict(self.numbers))
        if len(self.written) == 1:
            return (found,)
        self.make = found._make
        return tuple(found)


class _Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, launch, *tensors):
        found = launch.forward(tensors)
        by_kind = {GIVEN: dict(zip(launch.names, tensors)), RESULT: dict(zip(launch.written, found))}
        ctx.save_for_backward(*[by_kind[kind][name] for kind, name in launch.rule.tensors if kind in by_kind])
        ctx.launch = launch
        ctx.shapes = {name: (one.shape, one.dtype, one.device) for names in by_kind.values() for name, one in names.items()}
        ctx.mark_non_differentiable(*[one for name, one in by_kind[RESULT].items() if name not in launch.rule.has_gradient])
        ctx.set_materialize_grads(False)
        return found

    @staticmethod
    def backward(ctx, *gradients):
        launch, rule = ctx.launch, ctx.launch.rule
        refuse_second_derivatives(launch.op.name)
        of_results = {name: one for name, one in zip(launch.written, gradients) if name in rule.has_gradient}
        if all(one is None for one in of_results.values()):
            return (None,) * len(ctx.needs_input_grad)
        saved, tensors = list(ctx.saved_tensors), []
        for kind, name in rule.tensors:
            if kind in (GIVEN, RESULT):
                tensors.append(saved.pop(0))
            elif kind == GRADIENT and of_results[name] is not None:
                tensors.append(of_results[name].contiguous())
            else:
                shape, dtype, device = ctx.shapes[name]
                tensors.append(torch.zeros(shape, dtype=dtype if kind == GRADIENT else rule.sums[name], device=device))
        numbers = {name: value for name, value in launch.numbers if name in rule.numbers}
        # By position, which is the order of the signature.
        found = rule.backward(*tensors, **rule.options, **numbers)
        by_name = found._asdict() if isinstance(found, tuple) else {next(iter(rule.gradients.values())): found}
        for name, gradient in rule.gradients.items():
            if name in ctx.shapes and by_name[gradient].shape != ctx.shapes[name][0]:
                raise Error(f"{rule.backward.name}: argument '{gradient}': expected the shape {tuple(ctx.shapes[name][0])} of '{name}', but got "
                            f"{tuple(by_name[gradient].shape)}")
        return (None, *[by_name[rule.gradients[name]].to(ctx.shapes[name][1]) if needed else None
                        for name, needed in zip(launch.names, ctx.needs_input_grad[1:])])


_apply = apply_of(_Kernel)


def kernel(op: Any, given: Dict[str, Any], options: Dict[str, Any], numbers: tuple) -> Any:
    """A call of `tlc.ops`, or of a kernel of a file, with gradients."""
    out = next((key for key in given if key.startswith("out ")), None)
    if out is not None:
        raise Error(f"{op.name}: out= is for calls without gradients; use the result, or call it under torch.no_grad()")
    if not all(isinstance(one, torch.Tensor) for one in given.values()):
        calls.refuse_others(op.name, [op.name_of(key, options) for key in given], given.values())
    if not is_compiling() and not is_plain(*given.values()):
        calls.refuse_gradients(op.name, [op.name_of(key, options) for key in given], list(given.values()),
                               "use plain tensors outside of dispatch modes")
    launch = _Launch(op, given, options, numbers)
    found = _apply(launch, *given.values())
    return found[0] if launch.make is None else launch.make(found)
