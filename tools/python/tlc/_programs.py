# SPDX-License-Identifier: Apache-2.0
"""Kernels and their parameters as data, compiled programs, and launches of them."""

import ctypes
import functools
import math
import struct
import sys
import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, Generic, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

from . import _arrays as arrays
from . import _devices as devices
from . import _interface as c
from ._arrays import CPU, ELEMENTS, Array, Element, Framework
from ._exchange import Exchange, Repeat, refused
from ._interface import Error

INPUT, OUTPUT, INOUT = 0, 1, 2
Kept = TypeVar("Kept")
MOST_WORKSPACES, WORKSPACE_ALIGNMENT = 64, 256


class Option(NamedTuple):
    """A parameter of a kernel: what is allowed, in words, and its default."""

    name: str
    allowed: str
    default: str
    description: str


class Kernel(NamedTuple):
    """A kernel of tlc or of a user's file."""

    name: str
    summary: str
    options: Tuple[Option, ...]
    file: Optional[int]  # its handle

    def option(self, name: str) -> Optional[Option]:
        return next((option for option in self.options if option.name == name), None)


def kernels_of(file: Optional[int]) -> Dict[str, Kernel]:
    found, library = {}, c.interface()
    for number in range(library.number(library.kernel_count(file))):
        info = c.KernelInfo()
        library.check(library.kernel_of(file, number, ctypes.byref(info)))
        options = []
        for parameter in range(info.parameter_count):
            row = c.ParameterInfo()
            library.check(library.parameter_of(file, number, parameter, ctypes.byref(row)))
            options.append(Option(*(text.decode() for text in (row.name, row.allowed, row.fallback, row.description))))
        found[info.name.decode()] = Kernel(info.name.decode(), info.summary.decode(), tuple(options), file)
    return found


_ours: Optional[Dict[str, Kernel]] = None


def our_kernels() -> Dict[str, Kernel]:
    """Those of tlc, by name."""
    global _ours
    if _ours is None:
        _ours = kernels_of(None)
    return _ours


def text_of(value: Any, option: Optional[Option]) -> str:
    """A value of Python as `tlc -D name=value` takes it. True and False are values of yes and no."""
    if isinstance(value, bool):
        if option is not None and not option.allowed.replace("auto | ", "").startswith("no | yes"):
            raise Error(f"expected {option.name} = {option.allowed} ({option.description}), but got {value}")
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return repr(value) if isinstance(value, float) else str(value)


def texts_of(kernel: Kernel, values: Dict[str, Any], call: str) -> Dict[str, str]:
    """Options of a call; those that are None have their default."""
    found = {}
    for name, value in values.items():
        option = kernel.option(name)
        if option is None:
            raise Error(f"{call}: expected an option among {', '.join(option.name for option in kernel.options)}, but got '{name}'")
        if value is not None:
            found[name] = text_of(value, option)
    return found


def rounded(extent: int) -> int:
    """What stands for an extent where it guides the choice of a program only, which takes any: so that growing sequences take
    few programs. Four binary digits are kept, and the powers of two up to 32 that divide it, on which alignment depends."""
    if extent < 16:
        return extent
    shift = extent.bit_length() - 4
    up = -(-extent >> shift) << shift
    divisor = math.gcd(extent, 32)
    return up if math.gcd(up, 32) == divisor else up + divisor


class Extent(NamedTuple):
    dimension: Optional[str]
    constant: int


class Argument(NamedTuple):
    name: str
    element: Element
    access: int
    shape: Optional[Tuple[Extent, ...]]  # None: a scalar


class Program:
    """A kernel compiled for a device."""

    def __init__(self, device: devices.Device, kernel: Kernel, values: Dict[str, str]):
        library = c.interface()
        options = c.CompileOptions(None, 0.0, device.handle, kernel.file)
        names, chosen = c.texts(list(values)), c.texts(list(values.values()))
        self.device, self.kernel, self.values = device, kernel, values
        self.handle = library.object(library.compile_with(kernel.name.encode(), names, chosen, len(values), ctypes.byref(options)))
        self.arguments = tuple(self._argument(number) for number in range(library.number(library.argument_count(self.handle))))
        self.tensors = tuple(argument for argument in self.arguments if argument.shape is not None)
        self.scalars = tuple(argument for argument in self.arguments if argument.shape is None)

    def _argument(self, number: int) -> Argument:
        library, info = c.interface(), c.ArgumentInfo()
        library.check(library.argument_of(self.handle, number, ctypes.byref(info)))
        shape = None
        if info.rank >= 0:
            extents = []
            for axis in range(info.rank):
                extent = c.ExtentInfo()
                library.check(library.extent_of(self.handle, number, axis, ctypes.byref(extent)))
                extents.append(Extent(extent.dimension.decode() if extent.dimension else None, extent.least))
            shape = tuple(extents)
        return Argument(info.name.decode(), ELEMENTS[info.element], info.access, shape)

    def __del__(self):
        if getattr(self, "handle", None) and not sys.is_finalizing():
            c.interface().release(self.handle)

    def shape_of(self, argument: str, dimensions: Dict[str, int]) -> Tuple[int, ...]:
        """The shape that a tensor has for values of the dimensions."""
        number = next(number for number, one in enumerate(self.tensors) if one.name == argument)
        if c.interface().version < 9:
            return self._plain_shape_of(self.tensors[number], dimensions)
        room, values = (ctypes.c_int64 * 8)(), (ctypes.c_int64 * len(dimensions))(*dimensions.values())
        library = c.interface()
        rank = library.number(library.shape_of(self.handle, number, c.texts(list(dimensions)), values, len(dimensions), room, 8))
        return tuple(room[:rank])


    def _plain_shape_of(self, argument: Argument, dimensions: Dict[str, int]) -> Tuple[int, ...]:
        """Without extents that are computed."""
        shape = argument.shape or ()
        for axis, extent in enumerate(shape):
            if extent.dimension is not None and extent.dimension not in dimensions:
                raise Error(f"argument '{argument.name}' axis {axis}: expected a value of dimension '{extent.dimension}', but got none")
        return tuple(extent.constant if extent.dimension is None else dimensions[extent.dimension] for extent in shape)


_lock = threading.Lock()


def program_of(device: devices.Device, kernel: Kernel, values: Dict[str, str]) -> Program:
    """Kept as long as the device, on a GPU for the life of the process: a graph may have captured launches of it."""
    key = kernel.name, kernel.file, tuple(sorted(values.items()))
    found = device.programs.get(key)
    if found is None:
        refuse_capture(device, kernel)
        _set_cache_once()
        made = Program(device, kernel, values)
        with _lock:
            found = device.programs.setdefault(key, made)
    return found


def _set_cache_once() -> None:
    from . import _cache
    _cache.begin()


def refuse_capture(device: devices.Device, kernel: Kernel) -> None:
    """Compiling loads code, which a stream that is captured does not allow."""
    torch = sys.modules.get("torch")
    if device.number != CPU and torch is not None and torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        raise Error(f"cannot compile and load '{kernel.name}' while a stream is captured; call it with these shapes and options before the "
                    "capture; tlc.prewarm compiles it ahead of that")


class Output(NamedTuple):
    """What a call returns: the argument, the shape that the caller sees, and how the argument's axes follow from it. What is not
    returned lies where workspaces do."""

    argument: str
    shape: Tuple[int, ...]
    view: Any = None  # Array -> Array
    is_returned: bool = True


class Problem(NamedTuple):
    """A call worked out: the program, the argument for each tensor that is given, and what is returned."""

    program: Program
    inputs: Dict[str, Tuple[int, Array]]  # argument -> number of the given tensor, and it as the argument has it
    outputs: Tuple[Output, ...]  # those that are made
    scalars: Dict[str, Any] = {}


class _State:
    """Arrays of the C interface, which one thread at a time uses."""

    def __init__(self, views: Sequence[Array]):
        count = len(views)
        self.tensors = (c.Tensor * max(count, 1))()
        self.each = [self.tensors[i] for i in range(count)]
        for place, view in zip(self.each, views):
            rank = len(view.shape)
            place.data, place.element, place.rank = view.data or None, view.element.number, rank
            place.shape, place.strides = (ctypes.c_int64 * rank)(*view.shape), (ctypes.c_int64 * rank)(*view.strides)
        self.workspaces = None


class Plan:
    """A launch of a program on tensors of given shapes and strides at any addresses. Any number of threads use it."""

    def __init__(self, problem: Problem):
        program = problem.program
        self.program, self.device = program, program.device
        views: List[Array] = []
        self.sources: List[Tuple[int, int]] = []  # argument, number of the given tensor
        self.made: List[Tuple[int, Element, Tuple[int, ...]]] = []
        self.unreturned: List[int] = []  # arguments
        outputs = {output.argument: output for output in problem.outputs}
        for number, argument in enumerate(program.tensors):
            if argument.name in problem.inputs:
                source, view = problem.inputs[argument.name]
                self.sources.append((number, source))
                views.append(Array(0, view.element, view.shape, view.strides, view.device, None))  # keeps no memory of the first call
                continue
            output = outputs.get(argument.name)
            if output is None:
                raise Error(f"{program.kernel.name}: expected a tensor for argument '{argument.name}', but got none")
            whole = Array(0, argument.element, output.shape, arrays.dense_strides(output.shape), self.device.number, None)
            if output.is_returned:
                self.made.append((number, argument.element, output.shape))
            else:
                self.unreturned.append(number)
            views.append(output.view(whole) if output.view else whole)
        for name in problem.inputs:
            if all(argument.name != name for argument in program.tensors):
                raise Error(f"{program.kernel.name}: expected arguments among "
                            f"{', '.join(argument.name for argument in program.tensors)} with these options, but got '{name}'")
        #: Numbers of the given tensors that it writes.
        self.written = tuple(source for number, source in self.sources if program.tensors[number].access != INPUT)
        self.views, self.count = views, len(views)
        self.scalars = _scalars(program, problem.scalars)
        self.scalar_count = len(program.scalars)
        state = _State(views)
        sizes = (ctypes.c_size_t * MOST_WORKSPACES)()
        library = c.interface()
        found = library.number(library.workspace(program.handle, state.tensors, self.count, sizes, MOST_WORKSPACES))
        #: Of what is not returned, then of workspaces.
        self.sizes = (*[arrays.span_of(views[number]) for number in self.unreturned], *sizes[:found])
        self.workspace_count = found
        self.offsets, self.room = [], 0  # in memory for all of them, which need not be aligned
        for size in self.sizes:
            self.offsets.append(self.room)
            self.room += -(-max(size, 1) // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
        self.room += WORKSPACE_ALIGNMENT
        self.spare = [state]
        self.results: Any = None  # what `tlc.ops` returns, from the first call on
        self.is_new = self.is_unknown = True  # until the second call, after which `repeat` is there or cannot be
        self.repeat: Optional[Repeat] = None
        self.handle, self.launch_call, self.check = program.handle, library.launch, library.check

    def run(self, given: Sequence[int], framework: Framework) -> List[Any]:
        """Launches on tensors at these addresses, and returns the tensors that it makes."""
        device, empty, address = self.device.number, framework.empty, framework.address
        if device == CPU:
            made = [empty(shape, element, device) for _, element, shape in self.made]
            self._emulate(given, made, framework)
            return made
        try:
            state = self.spare.pop()
        except IndexError:
            state = _State(self.views)
        each, made = state.each, []
        for number, source in self.sources:
            each[number].data = given[source]
        for number, element, shape in self.made:
            one = empty(shape, element, device)
            made.append(one)
            each[number].data = address(one)
        stream = framework.stream(device)
        workspaces, held = self._workspaces(framework, stream, each)
        # All addresses change at once: one after the other could seem to overlap.
        status = self.launch_call(self.handle, state.tensors, self.count, self.scalars, self.scalar_count, workspaces, self.workspace_count,
                                  stream)
        if status:
            self.check(status)
        self.spare.append(state)
        del held  # the framework's allocator orders what uses it next on this stream
        return made

    def _workspaces(self, framework: Framework, stream: Optional[int], each: List[Any]):
        """Workspaces, and what keeps their memory, in which is also what is not returned."""
        if not self.sizes:
            return None, None
        held: Any
        if framework.empty is arrays.OURS.empty:  # memory that launches of a stream have in common
            held = _kept_workspaces(self.device, stream, self.sizes)
            addresses = [one.address for one in held]
        else:
            held = framework.empty((self.room,), arrays.BY_NAME["u8"], self.device.number)
            begin = framework.address(held)
            begin += -begin % WORKSPACE_ALIGNMENT
            addresses = [begin + offset for offset in self.offsets]
        return self._placed(addresses, each), held

    def _placed(self, addresses: Sequence[int], each: List[Any]):
        """The addresses of workspaces, after those of what is not returned."""
        for number, address in zip(self.unreturned, addresses):
            each[number].data = address
        return c.addresses(addresses[len(self.unreturned):])

    def state(self, given: Sequence[int], made: Sequence[Any], framework: Framework) -> _State:
        """The arguments of a launch but for what is not returned."""
        state = _State(self.views)
        for number, source in self.sources:
            state.each[number].data = given[source]
        for (number, _, _), one in zip(self.made, made):
            state.each[number].data = framework.address(one)
        return state

    def repeated(self, exchange: Exchange, given: tuple, addresses: Sequence[int], made: Sequence[Any], framework: Framework,
                 finish: Any) -> Optional[Repeat]:
        """What makes launches like this one, where the tensors' library can tell what is like it."""
        if self.is_new:  # which may be the only call
            self.is_new = False
        elif self.is_unknown:
            self.is_unknown = False
            try:
                self.repeat = Repeat(self, exchange, self.state(addresses, made, framework).tensors, given, made, framework, finish)
            except Error:  # as of an API without functions that this needs
                pass
        return self.repeat

    def _emulate(self, given: Sequence[int], made: Sequence[Any], framework: Framework) -> None:
        placed: List[Array] = list(self.views)
        for number, source in self.sources:
            placed[number] = self.views[number].viewed(self.views[number].shape, self.views[number].strides)
            placed[number].data = given[source]
        for (number, _, _), one in zip(self.made, made):
            placed[number] = self.views[number].viewed(self.views[number].shape, self.views[number].strides)
            placed[number].data = framework.address(one)
        accesses = [argument.access if number not in self.unreturned else INPUT for number, argument in enumerate(self.program.tensors)]
        staged = devices.Staged(self.device, placed, [access != INPUT for access in accesses], [access != OUTPUT for access in accesses])
        state = _State(self.views)
        for place, address in zip(state.each, staged.addresses):
            place.data = address
        held = [arrays.Memory(self.device, max(size, 1)) for size in self.sizes]
        workspaces = self._placed([one.address for one in held], state.each)
        self.check(self.launch_call(self.program.handle, state.tensors, self.count, self.scalars, self.scalar_count, workspaces,
                                    self.workspace_count, None))
        devices.warn_of_findings()
        staged.copy_back()


class Bound:
    """A launch whose arguments are checked once. Call it to launch on the stream that is current then; `outputs` are the tensors
    that it writes and that were not given."""

    __slots__ = "__call__", "outputs", "_kept", "__weakref__"
    outputs: Tuple[Any, ...]
    __call__: Callable[[], None]  # of each object, without a frame of Python where libtlc has a function

    def __init__(self, plan: Plan, addresses: List[int], given: Sequence[Any], owners: List[Any], framework: Framework,
                 exchange: Optional[Exchange]):
        self.outputs = tuple(framework.empty(shape, element, plan.device.number) for _, element, shape in plan.made)
        after = tuple(functools.partial(note, one)
                      for note, one in arrays.counted([*[given[source] for source in plan.written], *self.outputs]))
        self._kept = [given, owners, plan, after]
        if plan.device.number == CPU:
            outputs = self.outputs
            self.__call__ = _followed(lambda: plan._emulate(addresses, outputs, framework), after)
            return
        state = plan.state(addresses, self.outputs, framework)
        workspaces, held = plan._workspaces(framework, framework.stream(plan.device.number), state.each)
        self._kept.append(held)
        library = c.interface()
        owner = c.Handle(library.object(library.bind(plan.program.handle, state.tensors, plan.count, plan.scalars, plan.scalar_count,
                                                     workspaces, plan.workspace_count)), library.bound_release, *self._kept)
        if exchange is not None:
            options = c.BoundFunctionOptions(exchange.api, refused, after, owner)
            self.__call__ = library.function(library.bound_function(owner.address, ctypes.byref(options)))
        else:
            launch, stream, number = library.bound_launch, framework.stream, plan.device.number
            self.__call__ = _followed(lambda: library.check(launch(owner.address, stream(number))), after)


def _followed(launch: Callable[[], None], after: Sequence[Callable[[], None]]) -> Callable[[], None]:
    def call() -> None:
        launch()
        for note in after:
            note()

    return call


_pool: Dict[tuple, List[arrays.Memory]] = {}


def _kept_workspaces(device: devices.Device, stream: Optional[int], sizes: Sequence[int]) -> List[arrays.Memory]:
    kept = _pool.setdefault((device.handle, stream, len(sizes)), [])
    for number, size in enumerate(sizes):
        if number == len(kept):
            kept.append(arrays.Memory(device, max(size, 1)))
        elif kept[number].size < size:
            kept[number] = arrays.Memory(device, size)
    return kept


_FORMATS = {"i8": "<b", "i32": "<i", "i64": "<q", "f16": "<e", "f32": "<f", "f64": "<d", "u8": "<B", "u32": "<I"}


def _scalars(program: Program, given: Dict[str, Any]):
    found = (c.Scalar * max(len(program.scalars), 1))()
    for place, scalar in zip(found, program.scalars):
        if scalar.name not in given:
            raise Error(f"{program.kernel.name}: expected a number for argument '{scalar.name}' of {scalar.element.name}, but got none")
        value, name = given[scalar.name], scalar.element.name
        if name == "bf16":
            bits = arrays._bits_of_bf16(value)
        elif name in _FORMATS:
            bits = struct.pack(_FORMATS[name], value)
        else:
            raise Error(f"{program.kernel.name}: argument '{scalar.name}': numbers of {name} cannot be passed from Python")
        place.element, place.bits = scalar.element.number, int.from_bytes(bits, "little")
    return found


class Plans(Generic[Kept]):
    """The plans of a kind of calls by what decides them; the oldest ones go."""

    most = 1024

    def __init__(self):
        self.plans: "OrderedDict[tuple, Kept]" = OrderedDict()
        self.get = self.plans.get

    def keep(self, key: tuple, plan: Kept) -> Kept:
        self.plans[key] = plan
        while len(self.plans) > self.most:
            try:
                self.plans.popitem(last=False)
            except KeyError:
                break
        return plan
