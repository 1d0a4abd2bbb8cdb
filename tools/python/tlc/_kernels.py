# SPDX-License-Identifier: Apache-2.0
"""Matrix products, softmax, and every kernel by its name: the cookbook's and those of a user's file."""

import collections
import ctypes
import math
import os
import re
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from . import _arrays as arrays
from . import _calls as calls
from . import _interface as c
from . import _programs as programs
from ._arrays import Array
from ._interface import Error
from ._programs import INPUT, OUTPUT, Argument, Kernel, Output, Problem, program_of, rounded


_POSITIONS = tuple(map(str, range(64)))  # more tensors than a kernel has


def result_of(dtype: str) -> str:
    """The type of a product of matrices of this type, where none is asked for."""
    return {"i8": "i32", "e4m3": "bf16", "e5m2": "bf16"}.get(dtype, dtype)


def _lies_apart(array: Array) -> bool:
    """Whether a view lies as no contiguous tensor of its shape does, of which programs ask multiples of 16 bytes, or of the power of two that
    divides a row."""
    return not calls.is_aligned(array, math.gcd(array.element.bits * array.shape[-1], 128))


def _has_vectors(array: Array) -> bool:
    """Whether programs store vectors of 16 bytes to its rows; to others they store elements, which lie anywhere."""
    return array.element.bits * array.shape[-1] % 128 == 0


class Gemm(calls.Call):
    """a[m, k] b[k, n], or with a first axis of products for each of them. The result has the type of `a` (bf16 for fp8 and i32 for
    i8), or `out_dtype`, or that of `out`. Rows or columns are contiguous: a transposed view, such as `w.t()`, is another
    layout and no copy. Then, in this order: `scale_a` and `scale_b`, f32 numbers or vectors, for fp8 and i8; `bias`, f32 of the columns;
    `activation` ("relu", "gelu", "silu"); `residual`, a tensor like the result. `accumulate=True` adds to `out`.
    `tlc.gemm.options` lists what tunes it. With tensors of PyTorch of f16, bf16 and f32 that require gradients it is differentiable.

    >>> import tlc
    >>> a = tlc.tensor([[1.0, 2.0], [3.0, 4.0]], "f16")
    >>> tlc.gemm(a, a).tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    """

    name, kernel_name = "gemm", "gemm"
    derived = frozenset(("m", "n", "k", "batch", "dtype", "dtype_b", "out", "layout", "scales", "bias", "residual"))
    tensors = "a", "b", "scale_a", "scale_b", "bias", "residual", "out"

    def __call__(self, a, b, *, bias=None, residual=None, scale_a=None, scale_b=None, out=None, out_dtype: Optional[str] = None,
                 accumulate: bool = False, **options):
        route = calls.torch_route(a)
        if route is not None and (bias is not None or residual is not None or a.dtype in route.WIDE or getattr(b, "dtype", None) in route.WIDE):
            a, b, bias, residual = route.autocast_product(a, b, bias, residual, out, out_dtype)
        given = a, b, scale_a, scale_b, bias, residual, out
        made = self.again(given, options, (out_dtype, accumulate))
        if made is not None:
            return out if out is not None else made[0]
        if accumulate:
            self._check_accumulate(out, residual)
        if calls.wants_gradient(given):
            return calls.GRADIENTS.gemm(given, options, out_dtype)
        if route is not None and out is None and route.is_traced(a, b):
            return route.torch.ops.tlc.gemm(a, b, bias, residual, scale_a, scale_b, out_dtype, route.packed_options(options))
        made = self.anew(given, options, (out_dtype, accumulate))
        return out if out is not None else made[0]

    def bind(self, a, b, *, bias=None, residual=None, scale_a=None, scale_b=None, out=None, out_dtype: Optional[str] = None,
             accumulate: bool = False, **options) -> programs.Bound:
        """As `tlc.attention.bind`."""
        return calls.bind(self, dict(a=a, b=b, scale_a=scale_a, scale_b=scale_b, bias=bias, residual=residual, out=out), options,
                          (out_dtype, accumulate))

    def _check_accumulate(self, out, residual) -> None:
        if out is None or residual is not None:
            raise self.mistake(f"expected accumulate=True with out and without a residual, but {'there is no out' if out is None else 'got a residual'}")

    def _factor(self, name: str, array: Array) -> Tuple[Array, bool]:
        """The factor with its last axis contiguous, and whether its axes are exchanged for that. Where both orders fit, as with an extent of
        1, elements that are not of 16 bits take the one that has k last, which is the only one that matrix units read."""
        *outer, rows, columns = range(len(array.shape))
        if 0 in array.shape:  # no elements, which lie as every kernel takes them
            exchanged = name == "b"
            shape = array.permuted([*outer, columns, rows]).shape if exchanged else array.shape
            return array.viewed(shape, arrays.dense_strides(shape)), exchanged
        orders = array, array.permuted([*outer, columns, rows])
        choices = [(False, False), (True, False), (False, True), (True, True)]  # exchanged; the stride of an extent of 1 may be any
        if array.element.bits != 16:
            choices.insert(0, (name == "b", True))
        for exchanged, any_stride in choices:
            view = orders[exchanged]
            if view.strides[-1] == 1 or (any_stride and view.shape[-1] == 1):
                return view.viewed(view.shape, (*view.strides[:-1], 1)), exchanged
        raise self.mistake(f"argument '{name}': expected contiguous rows or columns, but got {array} with strides {list(array.strides)}")

    def solve(self, device, given, options, settings) -> Problem:
        out_dtype, accumulate = settings
        a, b, out = given["a"], given["b"], given.get("out")
        if len(a.shape) not in (2, 3) or len(b.shape) != len(a.shape):
            raise self.mistake(f"expected a and b of 2 axes, or of 3 with one of products first, but got {a} and {b}")
        (*batch, m, k), n = a.shape, b.shape[-1]
        if b.shape[-2] != k:
            raise self.mistake(f"expected a[m, k] and b[k, n], but got {a} and {b}")
        if accumulate:
            self._check_accumulate(out, given.get("residual"))
        if (out_dtype is not None) and out is not None:
            raise self.mistake("expected out or out_dtype, but got both")
        a, a_exchanged = self._factor("a", a)
        b, b_exchanged = self._factor("b", b)
        result = out.element.name if out is not None else out_dtype or result_of(a.element.name)
        values = {"m": rounded(m), "n": rounded(n), "k": rounded(k), "dtype": a.element.name, "out": result,
                  "layout": ("t" if b_exchanged else "n") + ("t" if a_exchanged else "n")}
        if batch:
            values["batch"] = rounded(batch[0])
        if b.element != a.element:
            values["dtype_b"] = b.element.name
        if ("scale_a" in given) != ("scale_b" in given):
            raise self.mistake("expected both scale_a and scale_b, or none of them")
        index = {name: number for number, name in enumerate(given)}
        inputs = {"A": (index["a"], a), "B": (index["b"], b)}
        if "scale_a" in given:
            rows = given["scale_a"].shape not in ((), (1,)) or given["scale_b"].shape not in ((), (1,))
            values["scales"] = "row" if rows else "tensor"
            for name, argument in (("scale_a", "ScaleA"), ("scale_b", "ScaleB")):
                scale = given[name]
                inputs[argument] = index[name], scale if rows or scale.shape else scale.viewed((1,), (1,))
        if "bias" in given:
            values["bias"] = "column"
            inputs["Bias"] = index["bias"], given["bias"]
        shape, outputs = (*batch, m, n), []
        calls.check_out(self.name, out, shape)
        if "residual" in given:
            values["residual"] = "tensor"
            inputs["Residual"] = index["residual"], given["residual"]
        elif accumulate:
            values["residual"] = "in_place"
        if out is not None:
            inputs["C"] = index["out"], out
        else:
            outputs.append(Output("C", shape))
        if "unaligned" not in options and (_lies_apart(a) or _lies_apart(b) or (out is not None and _has_vectors(out) and _lies_apart(out))):
            values["unaligned"] = "abc"
        kernel = self.kernel(self.kernel_name)
        try:
            program = program_of(device, kernel, self.values(kernel, values, options))
        except Error as error:
            if values["layout"] == "tn" or "layout" not in error.text:
                raise
            raise Error(f"{error.text}; tn is rows of a and columns of b that are contiguous: a.contiguous(), and b.t().contiguous().t()",
                        error.kind) from None
        return Problem(program, inputs, tuple(outputs))


class Softmax(calls.Call):
    """Softmax along the last axis; a row of -inf alone gives zeros. `out` is not `x`, nor a part of it. With tensors of PyTorch that
    require gradients it is differentiable.

    >>> import tlc
    >>> tlc.softmax(tlc.tensor([[0.0, 0.0]], "f32")).tolist()
    [[0.5, 0.5]]
    """

    name, kernel_name, derived = "softmax", "softmax", frozenset(("rows", "columns", "dtype", "alignment"))
    tensors = "x", "out"

    def __call__(self, x, *, out=None, **options):
        given = x, out
        made = self.again(given, options, ())
        if made is not None:
            return out if out is not None else made[0]
        route = calls.torch_route(x)
        if calls.wants_gradient(given):
            return calls.GRADIENTS.softmax(x, out, options)
        if route is not None and out is None and route.is_traced(x):
            return route.torch.ops.tlc.softmax(x, route.packed_options(options))
        made = self.anew(given, options, ())
        return out if out is not None else made[0]

    def bind(self, x, *, out=None, **options) -> programs.Bound:
        """As `tlc.attention.bind`."""
        return calls.bind(self, dict(x=x, out=out), options, ())

    def _matrix(self, name: str, array: Array) -> Array:
        if not array.shape:
            raise self.mistake(f"argument '{name}': expected at least one axis, but got {array}")
        if 0 in array.shape:  # no rows, which are at any distances
            shape = math.prod(array.shape[:-1]), array.shape[-1]
            return array.viewed(shape, arrays.dense_strides(shape))
        rows, stride = 1, array.shape[-1]
        for extent, own in zip(reversed(array.shape[:-1]), reversed(array.strides[:-1])):
            if extent != 1 and rows == 1:
                stride = own
            elif extent != 1 and own != rows * stride:
                raise self.mistake(f"argument '{name}': expected rows at equal distances, but got {array} with strides {list(array.strides)}; "
                                   "make it contiguous, or call it for parts")
            rows *= extent
        return array.viewed((rows, array.shape[-1]), (stride, array.strides[-1]))

    def solve(self, device, given, options, settings) -> Problem:
        x, out = self._matrix("x", given["x"]), given.get("out")
        calls.check_out(self.name, out, given["x"].shape)
        y = x if out is None else self._matrix("out", out)
        alignment = 16
        while any(array.data % alignment or array.strides[0] * array.element.bits // 8 % alignment for array in (x, y)):
            alignment //= 2
        exact = options.get("length") == "one"
        rows, columns = x.shape
        values = {"rows": rounded(rows), "columns": columns if exact else rounded(columns), "dtype": x.element.name, "alignment": alignment}
        options = {"length": "any", **options}
        inputs = {"X": (0, x)}
        outputs = []
        if out is None:
            outputs.append(Output("Y", given["x"].shape, lambda array: array.viewed(x.shape, (x.shape[1], 1))))
        else:
            inputs["Y"] = 1, y
        kernel = self.kernel(self.kernel_name)
        return Problem(program_of(device, kernel, self.values(kernel, values, options)), inputs, tuple(outputs))


class _Results:
    """What a plan's call returns: of the outputs, and of the tensors changed in place, those that are made and those given."""

    def __init__(self, name: str, plan: programs.Plan):
        given, tensors = dict(plan.sources), plan.program.tensors
        made = {number: place for place, (number, _, _) in enumerate(plan.made)}
        written = [number for number, argument in enumerate(tensors) if argument.access != INPUT]
        self.places = [(number in made, made[number] if number in made else given[number]) for number in written]
        self.type = collections.namedtuple(re.sub(r"\W", "_", name), [tensors[number].name for number in written])  # type: ignore[misc]

    def of(self, objects: Iterable[Any], made: Sequence[Any]):
        given = [one for one in objects if one is not None]
        found = [made[place] if is_made else given[place] for is_made, place in self.places]
        return found[0] if len(found) == 1 else self.type._make(found)


def _fixed(signature: Tuple[Argument, ...], program: programs.Program) -> Set[str]:
    """Dimensions of a kernel of which a program takes one extent only, such as softmax for rows that are unaligned."""
    own = {argument.name: argument.shape for argument in program.tensors}
    return {usual.dimension for argument in signature for usual, extent in zip(argument.shape or (), own.get(argument.name) or ())
            if usual.dimension is not None and extent.dimension is None}


class Op(calls.Call):
    """A kernel by its name. Tensors are given in the order of the kernel's inputs, or by their names; everything else by name:
    options, numbers, and `out`, a tensor or a dict of tensors by name. Extents of outputs follow from those of inputs, or are
    options. Several results are a named tuple.

    A parameter `dtype` is the type of the first tensor unless it is given. `arguments()` lists what a call takes. With tensors of
    PyTorch that require gradients it is differentiable if there is a kernel with its name and `_bwd` (docs/python.md).
    """

    def __init__(self, kernel: Kernel, siblings: "Ops"):
        super().__init__()
        self.name = self.kernel_name = kernel.name
        self._kernel, self.siblings = kernel, siblings
        self._signatures: Dict[tuple, Tuple[Argument, ...]] = {}
        self.rules: Dict[tuple, Any] = {}  # of gradients (_kernel_gradients.py)
        self.__doc__ = f"{kernel.summary}\n\n{Op.__doc__}"

    @property
    def options(self):
        return self._kernel.options

    def __repr__(self):
        return f"<tlc kernel {self.name}: {self._kernel.summary}>"

    def signature(self, device, options: Dict[str, str]) -> Tuple[Argument, ...]:
        """Names, types and axes of the arguments, which the program for the usual sizes has, too."""
        key = device.serial, tuple(sorted(options.items()))
        if key not in self._signatures:
            self._signatures[key] = program_of(device, self._kernel, options).arguments
        return self._signatures[key]

    def name_of(self, key: str, options: Dict[str, Any]) -> str:
        """The kernel's name of a tensor, which may be given by its position, for errors."""
        if not key.isdigit():
            return key[len("out "):] or "out" if key.startswith("out ") else key
        try:
            signature = self.signature(calls.devices.current_emulator(), programs.texts_of(self._kernel, options, self.name))
        except Error:
            return key
        names = [argument.name for argument in signature if argument.shape is not None and argument.access != OUTPUT]
        return names[int(key)] if int(key) < len(names) else key

    def plan(self, given, options, settings):
        try:
            return super().plan(given, options, settings)
        except Error as error:
            text = re.sub(r"(argument|of) '(\d+|out \w*)'", lambda found: f"{found[1]} '{self.name_of(found[2], options)}'", error.text)
            if text == error.text:
                raise
            raise Error(f"{self.name}: {text}", error.kind) from None

    def arguments(self, device: Optional[str] = None, **options) -> List[str]:
        """What a call takes and returns with these options, as text: "X: bf16[m, n]", "-> Y: bf16[m, n]"."""
        number = arrays.CPU if device is None or device == "cpu" else int(device.partition(":")[2] or 0)
        on = calls.devices.current_emulator() if number == arrays.CPU else calls.devices.gpu(number)
        lines = []
        for argument in self.signature(on, programs.texts_of(self._kernel, options, self.name)):
            axes = "" if argument.shape is None else f"[{', '.join(extent.dimension or str(extent.constant) for extent in argument.shape)}]"
            lines.append(f"{'-> ' if argument.access == OUTPUT else ''}{argument.name}: {argument.element.name}{axes}")
        return lines

    def __call__(self, *tensors, out=None, **named):
        objects = *tensors, out
        found = self.again(objects, named, ()) if tensors else None
        if found is not None:
            return found
        given, options, numbers = self._sorted(tensors, out, named)
        if calls.wants_gradient(list(given.values())):
            return calls.GRADIENTS.kernel(self, given, options, numbers)
        # What is given by name is not in `objects`.
        key = ((), *calls.option_key(named)) if not isinstance(out, dict) and len(given) == len(tensors) + (out is not None) else None
        plan, made = self.work_out(objects, key, given, options, numbers)
        return self.finish(plan)(given.values(), made)

    def finish(self, plan):
        if plan.results is None:
            plan.results = _Results(self.name, plan)
        return plan.results.of

    def bind(self, *tensors, out=None, **named) -> programs.Bound:
        """As `tlc.attention.bind`."""
        given, options, numbers = self._sorted(tensors, out, named)
        if calls.wants_gradient(list(given.values())):
            names = [self.name_of(key, options) for key in given]
            calls.refuse_gradients(f"{self.name}.bind", names, list(given.values()), "use the call itself")
        plan, addresses, framework, owners = self.plan(given, options, numbers)
        return calls.bound_of(plan, addresses, given, owners, framework)

    def _sorted(self, tensors, out, named) -> Tuple[calls.Given, Dict[str, Any], tuple]:
        """Tensors by position, by name and by the name of an output; options; and numbers."""
        given: Dict[str, Any] = dict(zip(_POSITIONS, tensors))
        options, numbers = {}, []
        for name, value in named.items():
            if self._kernel.option(name) is not None:
                options[name] = value
            elif isinstance(value, (int, float)):
                numbers.append((name, value))
            else:
                given[name] = value
        if out is not None:
            outs = out if isinstance(out, dict) else {"": out}
            given.update((f"out {name}", tensor) for name, tensor in outs.items())
        return given, options, tuple(sorted(numbers))

    def values_of(self, first: Array, options: Dict[str, Any]) -> Dict[str, str]:
        """The parameters that are given, and the type of the first tensor."""
        values, dtype = programs.texts_of(self._kernel, options, self.name), self._kernel.option("dtype")
        if dtype is not None and "dtype" not in values and first.element.name in dtype.allowed.split(" | "):
            values["dtype"] = first.element.name
        return values

    def solve(self, device, given, options, settings) -> Problem:
        values = self.values_of(next(iter(given.values())), options)
        signature = self.signature(device, values)
        inputs = self.assign(signature, given)
        dimensions: Dict[str, int] = {}
        for argument in signature:
            if argument.name in inputs and argument.shape is not None and argument.access != OUTPUT:
                for extent, found in zip(argument.shape, inputs[argument.name][1].shape):
                    if extent.dimension is not None:
                        dimensions.setdefault(extent.dimension, found)
        # Sizes of which no tensor tells are as given.
        for option in self._kernel.options:
            if option.name in values and option.name not in dimensions and values[option.name].isdigit():
                dimensions[option.name] = int(values[option.name])
        guides = {name: str(rounded(extent)) for name, extent in dimensions.items() if self._kernel.option(name) is not None and name not in values}
        program = program_of(device, self._kernel, {**values, **guides})
        exact = {name: str(dimensions[name]) for name in _fixed(signature, program) if name in guides}
        program = program_of(device, self._kernel, {**values, **guides, **exact})
        outputs = tuple(Output(argument.name, program.shape_of(argument.name, dimensions)) for argument in program.tensors
                        if argument.access == OUTPUT and argument.name not in inputs)
        return Problem(program, inputs, outputs, dict(settings))

    def assign(self, signature: Tuple[Argument, ...], given: calls.Arrays) -> Dict[str, Tuple[int, Array]]:
        tensors = {argument.name: argument for argument in signature if argument.shape is not None}
        order = [argument.name for argument in tensors.values() if argument.access != OUTPUT]
        written = [argument.name for argument in tensors.values() if argument.access == OUTPUT]
        inputs: Dict[str, Tuple[int, Array]] = {}
        for number, (name, array) in enumerate(given.items()):
            if name.isdigit():
                if int(name) >= len(order):
                    raise self.mistake(f"expected at most {len(order)} tensors, {', '.join(order)}, but got {sum(map(str.isdigit, given))}")
                argument = order[int(name)]
            else:
                argument = name[len("out "):] if name.startswith("out ") else name
                if argument == "":
                    if len(written) != 1:
                        raise self.mistake(f"expected out={{name: tensor}} for the outputs {', '.join(written)}, but got one tensor")
                    argument = written[0]
                if argument not in tensors:
                    raise self.mistake(f"expected an option among {', '.join(option.name for option in self._kernel.options)} or a tensor among "
                                       f"{', '.join(tensors)}, but got '{argument}'")
            if argument in inputs:
                raise self.mistake(f"expected argument '{argument}' once, but it is given twice")
            inputs[argument] = number, array
        missing = [name for name in order if name not in inputs]
        if missing:
            raise self.mistake(f"expected tensors {', '.join(order)}, but got none for {', '.join(missing)}")
        return inputs


class Ops:
    """Kernels by name, as attributes: `tlc.ops.rms_norm(x, w)`. `dir(tlc.ops)` lists them.

    >>> import tlc
    >>> x = tlc.tensor([[3.0, 4.0] * 4], "bf16")
    >>> y, r = tlc.ops.rms_norm(x, tlc.tensor([1.0] * 8, "f32"))
    >>> y.dtype, y.shape, [round(value, 2) for value in r.tolist()]
    ('bf16', (1, 8), [0.28])
    """

    def __init__(self, kernels, origin: str):
        self._list, self._origin = kernels, origin
        self._is_ours = origin == "tlc"

    def _kernels(self) -> Dict[str, Kernel]:
        return self._list()

    def __dir__(self):
        return sorted(self._kernels())

    def _find(self, name: str) -> Optional[Op]:
        return getattr(self, name) if name in self._kernels() else None

    def __getattr__(self, name: str) -> Op:
        if name.startswith("_"):
            raise AttributeError(name)
        kernel = self._kernels().get(name)
        if kernel is None:
            import difflib  # takes longer than all other imports of this module
            near = difflib.get_close_matches(name, self._kernels(), 3)
            raise _NoKernel(f"{self._origin} has no kernel '{name}'{'; nearest: ' + ', '.join(near) if near else ''}")
        made = Op(kernel, self)
        setattr(self, name, made)
        return made


class _NoKernel(Error, AttributeError):
    """For hasattr, too."""


class File(Ops):
    """The kernels of a C++ file (docs/your-own-file.md), as attributes."""

    def __init__(self, path: str, flags: Tuple[str, ...], compiler: Optional[str]):
        library = c.interface()
        programs._set_cache_once()
        options = c.FileOptions(compiler.encode() if compiler else None, c.texts(flags), len(flags), 0)
        self._handle = None
        self._handle = library.object(library.file_open(os.fspath(path).encode(), ctypes.byref(options)))
        found = programs.kernels_of(self._handle)
        super().__init__(lambda: found, f"'{path}'")


def load(path: str, flags: Tuple[str, ...] = (), compiler: Optional[str] = None) -> File:
    """Compiles a C++ file of kernels with a C++ compiler of this machine, `compiler` or what CXX names, unless the cache has it.
    Its kernels are attributes, called as those of `tlc.ops`. It stays loaded until the process ends.

        softcap = tlc.load("softcap.cpp").softcap
        y = softcap(x, bias, cap=30.0)
    """
    return File(path, tuple(flags), compiler)


gemm = Gemm()
softmax = Softmax()
ops = Ops(programs.our_kernels, "tlc")
