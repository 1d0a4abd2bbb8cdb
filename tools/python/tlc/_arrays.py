# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries as addresses, element types, shapes and strides."""

import ctypes
import functools
import math
import struct
import sys
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from . import _exchange
from ._interface import Error, interface

CPU = -1  #: the number of a device that is no GPU


class Element(NamedTuple):
    """A type of elements: its number in the C interface, its name and its bits."""

    number: int
    name: str
    bits: int


ELEMENTS = tuple(Element(number, *row) for number, row in enumerate((
    ("i8", 8), ("i32", 32), ("i64", 64), ("f16", 16), ("bf16", 16), ("f32", 32), ("f64", 64), ("e4m3", 8), ("e5m2", 8), ("u8", 8), ("u32", 32),
    ("i4", 4), ("u4", 4), ("e2m1", 4))))
BY_NAME = {element.name: element for element in ELEMENTS}
# As NumPy and PyTorch call them; those of 8 bits also as ml_dtypes does.
ELSEWHERE = {"int8": "i8", "int32": "i32", "int64": "i64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
             "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "uint8": "u8", "uint32": "u32"}
NAME_ELSEWHERE = {ours: theirs for theirs, ours in ELSEWHERE.items()}


def element_named(name: str) -> Element:
    if name not in BY_NAME:
        raise Error(f"expected an element type among {', '.join(BY_NAME)}, but got '{name}'")
    return BY_NAME[name]


class Array:
    """Where a tensor is stored. Strides count elements. `owner` keeps the memory."""

    __slots__ = ("data", "element", "shape", "strides", "device", "owner", "is_read_only")

    def __init__(self, data: int, element: Element, shape: Tuple[int, ...], strides: Tuple[int, ...], device: int, owner: Any,
                 is_read_only: bool = False):
        self.data, self.element, self.shape, self.strides, self.device, self.owner = data, element, shape, strides, device, owner
        self.is_read_only = is_read_only

    def key(self):
        """All but the address, of which only the alignment matters for the choice of a program."""
        return self.element.number, self.shape, self.strides, self.device, self.data % 16, self.is_read_only

    def viewed(self, shape: Sequence[int], strides: Sequence[int]) -> "Array":
        return Array(self.data, self.element, tuple(shape), tuple(strides), self.device, self.owner, self.is_read_only)

    def permuted(self, axes: Sequence[int]) -> "Array":
        return self.viewed([self.shape[axis] for axis in axes], [self.strides[axis] for axis in axes])

    def __str__(self):
        return f"{self.element.name}[{', '.join(map(str, self.shape))}] on {'the CPU' if self.device == CPU else f'cuda:{self.device}'}"


def dense_strides(shape: Sequence[int]) -> Tuple[int, ...]:
    strides, stride = [], 1
    for extent in reversed(shape):
        strides.append(stride)
        stride *= max(extent, 1)
    return tuple(reversed(strides))


def bytes_of(element: Element, count: int) -> int:
    return (count * element.bits + 7) // 8


def span_of(array: Array) -> int:
    """Bytes from the first element to the end of the last one."""
    if 0 in array.shape:
        return 0
    return bytes_of(array.element, 1 + sum((extent - 1) * stride for extent, stride in zip(array.shape, array.strides)))


class Memory:
    """Memory of a device of the C interface, freed with this object."""

    def __init__(self, device, size: int):
        self.device, self.size, address = device, size, ctypes.c_void_p()
        self.address = 0
        interface().check(interface().device_allocate(device.handle, size, ctypes.byref(address)))
        self.address = address.value or 0

    def __del__(self, is_finalizing=sys.is_finalizing):  # globals may be gone
        if getattr(self, "address", None) and self.device.handle and not is_finalizing():
            interface().device_free(self.device.handle, self.address)


class _DlDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype", _DlDataType), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _DlManagedTensor(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DlManagedTensor))
_DlManagedTensor._fields_ = [("dl_tensor", _DlTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", _DELETER)]

class _DlVersioned(ctypes.Structure):
    """DLManagedTensorVersioned, since DLPack 1.0."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("dl_tensor", _DlTensor)]


DL_CPU, DL_CUDA, DL_CUDA_HOST = 1, 2, 3
DL_VERSION, DL_READ_ONLY = (1, 0), 1
_CODES = {"i": 0, "u": 1, "f": 2, "bf16": 4, "e4m3": 10, "e5m2": 12, "e2m1": 17}

_pointer_of_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of_capsule.restype, _pointer_of_capsule.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
# A capsule that ends has no references left to count, so its destructor passes it as an address.
_is_ending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_of_ending = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

_exported: Dict[int, tuple] = {}  # what consumers of our capsules hold


# Both run when the interpreter ends, too, where globals may be gone: what they need are their defaults.
@_DELETER
def _delete_exported(managed, exported=_exported, address=ctypes.addressof):
    exported.pop(address(managed.contents), None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule, exported=_exported, is_ending=_is_ending, pointer_of=_pointer_of_ending):
    """A capsule that was never consumed goes with what it exports."""
    if is_ending(capsule, b"dltensor"):
        exported.pop(pointer_of(capsule, b"dltensor"), None)


for _callback in (_delete_exported, _drop_capsule):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))  # others call them at any time


class Tensor:
    """A tensor in memory of tlc, or of another library in other types: what calls return for tensors of libraries that tlc
    cannot make tensors of, and of `tlc.view`. Other libraries take it by DLPack.

    >>> import tlc
    >>> x = tlc.tensor([[0.0, 1.0], [2.0, 3.0]], "f16")
    >>> x.shape, x.dtype, x.tolist()
    ((2, 2), 'f16', [[0.0, 1.0], [2.0, 3.0]])
    """

    def __init__(self, array: Array, source: Any = None):
        self._array = array
        #: The tensor that this is a view of, or None.
        self.bits = source

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._array.shape

    @property
    def ndim(self) -> int:
        return len(self._array.shape)

    @property
    def strides(self) -> Tuple[int, ...]:
        """In elements."""
        return self._array.strides

    @property
    def dtype(self) -> str:
        """The element type, as `tlc list` names it."""
        return self._array.element.name

    @property
    def device(self) -> str:
        """"cpu" or "cuda:0"."""
        return "cpu" if self._array.device == CPU else f"cuda:{self._array.device}"

    def __repr__(self):
        return f"tlc.Tensor({self.dtype}, shape={self.shape}, device='{self.device}')"

    def permute(self, *axes: int) -> "Tensor":
        """The same memory with its axes in another order."""
        return Tensor(self._array.permuted(axes), self.bits)

    def _bytes(self) -> bytes:
        array, size = self._array, span_of(self._array)
        if array.device == CPU:
            return ctypes.string_at(array.data, size) if size else b""
        from ._devices import gpu
        room = ctypes.create_string_buffer(size)
        gpu(array.device).synchronize(None)
        interface().check(interface().device_copy_out(gpu(array.device).handle, room, array.data, size))
        return room.raw[:size]

    def tolist(self) -> list:
        """Nested lists of Python numbers."""
        array, raw = self._array, self._bytes()

        def at(axis, offset):
            if axis == len(array.shape):
                return _number(array.element, raw, offset)
            return [at(axis + 1, offset + i * array.strides[axis]) for i in range(array.shape[axis])]

        return at(0, 0)

    def numpy(self):
        """A NumPy array of the values; of f32 where NumPy does not have the type."""
        import numpy
        name = NAME_ELSEWHERE.get(self.dtype, "float32")
        return numpy.array(self.tolist(), dtype=name if hasattr(numpy, name) else "float32").reshape(self.shape)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (DL_CPU, 0) if self._array.device == CPU else (DL_CUDA, self._array.device)

    def __dlpack__(self, stream: Optional[int] = None, **_newer):
        array = self._array
        if array.device != CPU:  # its writer ran on a stream of its own
            from ._devices import gpu
            gpu(array.device).synchronize(None)
        name = array.element.name
        code = _CODES[name if name in _CODES else name[0]]
        count = len(array.shape)
        shape, strides = (ctypes.c_int64 * count)(*array.shape), (ctypes.c_int64 * count)(*array.strides)
        pointer = ctypes.POINTER(ctypes.c_int64)
        dl = _DlTensor(array.data, *self.__dlpack_device__(), count, _DlDataType(code, array.element.bits, 1), ctypes.cast(shape, pointer),
                       ctypes.cast(strides, pointer), 0)
        managed = _DlManagedTensor(dl, None, _delete_exported)
        address = ctypes.addressof(managed)
        _exported[address] = managed, shape, strides, self
        return _new_capsule(address, b"dltensor", ctypes.cast(_drop_capsule, ctypes.c_void_p))


def _number(element: Element, raw: bytes, index: int):
    name, size = element.name, element.bits // 8
    if element.bits == 4:
        bits = raw[index // 2] >> (4 * (index % 2)) & 15
        if name == "e2m1":
            return (-1.0 if bits & 8 else 1.0) * (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)[bits & 7]
        return bits - 16 if name == "i4" and bits & 8 else bits
    own = raw[index * size:(index + 1) * size]
    if name == "bf16":
        return struct.unpack("<f", b"\0\0" + own)[0]
    if name == "e5m2":
        return struct.unpack("<e", b"\0" + own)[0]
    if name == "e4m3":
        return _number_of_e4m3(own[0])
    return struct.unpack("<" + _FORMATS[name], own)[0]


def _number_of_e4m3(bits: int) -> float:
    sign, exponent, fraction = (-1.0 if bits & 128 else 1.0), bits >> 3 & 15, bits & 7
    if bits & 127 == 127:
        return math.nan
    return sign * (math.ldexp(8 + fraction, exponent - 10) if exponent else math.ldexp(fraction, -9))


_FORMATS = {"i8": "b", "i32": "i", "i64": "q", "f16": "e", "f32": "f", "f64": "d", "u8": "B", "u32": "I"}


def _bits_of_bf16(value: float) -> bytes:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if value != value:
        return b"\xc0\x7f"
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def tensor(values, dtype: str = "f32") -> Tensor:
    """A tensor of the CPU from nested lists of numbers: tests need no other library.

    >>> import tlc
    >>> tlc.tensor([1, 2, 3], "i32").tolist()
    [1, 2, 3]
    """
    element, shape, level = element_named(dtype), [], values
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        if not level:
            break
        level = level[0]
    flat: List[float] = []

    def flatten(level, axis):
        if axis == len(shape):
            flat.append(level)
            return
        if len(level) != shape[axis]:
            raise Error(f"expected {shape[axis]} values along axis {axis}, but got {len(level)}")
        for one in level:
            flatten(one, axis + 1)

    flatten(values, 0)
    if dtype == "bf16":
        raw = b"".join(map(_bits_of_bf16, flat))
    elif dtype in _FORMATS:
        raw = struct.pack(f"<{len(flat)}{_FORMATS[dtype]}", *flat)
    else:
        raise Error(f"expected a type among bf16, {', '.join(_FORMATS)} for numbers of Python, but got {dtype}; tlc.view takes bits of others")
    return from_bytes(raw, shape, dtype)


def from_bytes(raw: bytes, shape: Sequence[int], dtype: str) -> Tensor:
    """A tensor of the CPU from its elements' bytes, row-major."""
    element, made = element_named(dtype), empty(shape, dtype)
    expected = bytes_of(element, math.prod(shape))
    if len(raw) != expected:
        raise Error(f"expected {expected} bytes for {dtype}{list(shape)}, but got {len(raw)}")
    ctypes.memmove(made._array.data, raw, len(raw))
    return made


def empty(shape: Sequence[int], dtype: str, device: str = "cpu") -> Tensor:
    """A dense tensor of any contents; `device` is "cpu" or "cuda:0"."""
    element = element_named(dtype)
    size = bytes_of(element, math.prod(shape))
    if device == "cpu":
        room = ctypes.create_string_buffer(size + 256)
        return Tensor(Array(-(-ctypes.addressof(room) // 256) * 256, element, tuple(shape), dense_strides(shape), CPU, room))
    from ._devices import gpu
    number = int(device.partition(":")[2] or 0)
    memory = Memory(gpu(number), max(size, 1))
    return Tensor(Array(memory.address, element, tuple(shape), dense_strides(shape), number, memory))


def view(bits, dtype: str) -> Tensor:
    """The bits of a tensor as elements of another type of the same size, for types that its library does not have, such as
    bf16 and fp8 in NumPy. Elements of 4 bits come two in a byte, the first one in its low half.

    >>> import tlc
    >>> tlc.view(tlc.tensor([0x40], "u8"), "e4m3").tolist()
    [2.0]
    """
    element, array = element_named(dtype), describe(bits, "bits", any_integer=True)
    shape, strides = list(array.shape), list(array.strides)
    if element.bits == 4:
        if array.element.bits != 8 or not shape or strides[-1] != 1:
            raise Error(f"view: expected a tensor of 8-bit elements with contiguous rows for {dtype}, but got {array}")
        shape, strides = [*shape[:-1], 2 * shape[-1]], [*(2 * stride for stride in strides[:-1]), 1]
    elif array.element.bits != element.bits:
        raise Error(f"view: expected elements of {element.bits} bits for {dtype}, but got {array}")
    return Tensor(Array(array.data, element, tuple(shape), tuple(strides), array.device, array.owner, array.is_read_only), bits)


U16 = Element(-1, "u16", 16)  # what NumPy has for bits of bf16; no kernel takes it
I16 = Element(-1, "i16", 16)


def _describe_numpy(array, name: str) -> Array:
    known = {**{theirs: BY_NAME[ours] for theirs, ours in ELSEWHERE.items()}, "uint16": U16, "int16": I16, "bool": BY_NAME["u8"]}
    element = known.get(array.dtype.name)
    if element is None:
        raise Error(f"argument '{name}': expected an element type among {', '.join(ELSEWHERE)}, but got {array.dtype}")
    facts, size = array.__array_interface__, element.bits // 8
    for stride in array.strides:
        if stride % size:
            raise Error(f"argument '{name}': expected strides of whole elements, but got {array.strides} bytes of {element.name}")
    address, is_read_only = facts["data"]
    return Array(address, element, array.shape, tuple(stride // size for stride in array.strides), CPU, array, is_read_only)


def _exchanged(capsule, name: str) -> Tuple[_DlTensor, int]:
    """The tensor of a capsule, and its flags."""
    if _exchange._is_valid(capsule, b"dltensor"):
        return _DlTensor.from_address(_pointer_of_capsule(capsule, b"dltensor")), 0
    if not _exchange._is_valid(capsule, b"dltensor_versioned"):
        raise Error(f"argument '{name}': expected a capsule of DLPack that is not used yet, but got {capsule!r}")
    versioned = _DlVersioned.from_address(_pointer_of_capsule(capsule, b"dltensor_versioned"))
    if versioned.major != DL_VERSION[0]:
        raise Error(f"argument '{name}': expected a tensor of DLPack {DL_VERSION[0]}, but got one of {versioned.major}.{versioned.minor}")
    return versioned.dl_tensor, versioned.flags


def _describe_dlpack(given, name: str) -> Array:
    """By the protocol, without copies. The capsule is not consumed: it keeps the memory."""
    kind, number = given.__dlpack_device__()
    if kind not in (DL_CPU, DL_CUDA, DL_CUDA_HOST):
        raise Error(f"argument '{name}': expected memory of the CPU or of a CUDA device, but got DLPack's device type {int(kind)}")
    # 1 names CUDA's legacy default stream, on which calls launch that know no other one.
    options = {"stream": 1} if kind == DL_CUDA else {}
    try:
        try:
            capsule = given.__dlpack__(max_version=DL_VERSION, **options)
        except TypeError:  # before DLPack 1.0
            capsule = given.__dlpack__(**options)
    except BufferError as error:  # what the protocol has for this
        raise Error(f"argument '{name}': {type(given).__name__} does not share its memory: {error}") from error
    dl, flags = _exchanged(capsule, name)
    count = dl.ndim
    shape = tuple(dl.shape[:count]) if count else ()
    strides = tuple(dl.strides[:count]) if count and dl.strides else dense_strides(shape)
    code, bits = dl.dtype.code, dl.dtype.bits
    if dl.dtype.lanes != 1:
        raise Error(f"argument '{name}': expected elements of one lane, but got {dl.dtype.lanes}")
    if bits == 16 and code in (0, 1):
        element = U16 if code else I16
    elif code == 6 and bits == 8:  # bool
        element = BY_NAME["u8"]
    else:
        number_of_element = interface().loaded.tlc_element_of_dlpack(code, bits)
        if number_of_element < 0:
            raise Error(f"argument '{name}': {interface().error().text}")
        element = ELEMENTS[number_of_element]
    return Array((dl.data or 0) + dl.byte_offset, element, shape, strides, number if kind == DL_CUDA else CPU, (given, capsule),
                 bool(flags & DL_READ_ONLY))


class Framework(NamedTuple):
    """How tensors of a library are read and made, and its current stream on a device. `read` gives what decides a program, as
    something hashable, and what keeps the memory until the launch."""

    describe: Callable[[Any, str], Array]
    read: Callable[[Any, str], Tuple[Any, int, Any]]  # key, address, owner
    empty: Callable[[Sequence[int], Element, int], Any]
    stream: Callable[[int], Optional[int]]
    address: Callable[[Any], int]  # of a tensor that `empty` has made
    maker: Callable[[Sequence[int], Element, int], Callable[[], Any]]  # `empty` of these, ready to be called
    exchange: Tuple[Any, ...] = ()  # what `_exchange.register` takes; of none: the type of the tensor
    note_write: Optional[Callable[[Any], None]] = None  # of a library that counts the writes of a tensor


def _maker(empty: Callable[[Sequence[int], Element, int], Any]) -> Callable[[Sequence[int], Element, int], Callable[[], Any]]:
    return functools.partial(functools.partial, empty)


def _reader(describe: Callable[[Any, str], Array]) -> Callable[[Any, str], Tuple[Any, int, Any]]:
    def read(given, name: str):
        array = describe(given, name)
        return array.key(), array.data, array

    return read


def _empty_numpy(shape, element: Element, _device):
    import numpy
    name = NAME_ELSEWHERE.get(element.name)
    if name is not None and hasattr(numpy, name):
        return numpy.empty(shape, name)
    if element.bits < 8:
        return view(numpy.empty((*shape[:-1], shape[-1] // 2), "uint8"), element.name)
    return view(numpy.empty(shape, f"uint{element.bits}"), element.name)


def _no_stream(_device):
    return None


def _empty_ours(shape, element: Element, device: int) -> Tensor:
    return empty(shape, element.name, "cpu" if device == CPU else f"cuda:{device}")


def _cupy() -> Framework:
    import cupy  # is imported: a tensor of its was given

    def cupy_empty(shape, element, device):
        with cupy.cuda.Device(device):
            return cupy.empty(shape, NAME_ELSEWHERE.get(element.name, "uint8"))

    return Framework(_describe_dlpack, _reader(_describe_dlpack), cupy_empty, lambda device: cupy.cuda.get_current_stream().ptr,
                     lambda made: made.data.ptr, _maker(cupy_empty))


def _torch() -> Framework:
    from . import _torch as module
    return module.FRAMEWORK


def _address_of_numpy(made) -> int:
    return made._array.data if type(made) is Tensor else made.__array_interface__["data"][0]


def _address_of_ours(made: Tensor) -> int:
    return made._array.data


def _describe_ours(given: Tensor, _name: str) -> Array:
    return given._array


NUMPY = Framework(_describe_numpy, _reader(_describe_numpy), _empty_numpy, _no_stream, _address_of_numpy, _maker(_empty_numpy))
OURS = Framework(_describe_ours, _reader(_describe_ours), _empty_ours, _no_stream, _address_of_ours, _maker(_empty_ours))
DLPACK = Framework(_describe_dlpack, _reader(_describe_dlpack), _empty_ours, _no_stream, _address_of_ours, _maker(_empty_ours))
FRAMEWORKS: Dict[type, Framework] = {Tensor: OURS}


def framework_of(given, name: str = "tensor") -> Framework:
    """By the type, which is looked up once."""
    found = FRAMEWORKS.get(type(given))
    if found is None:
        roots = {cls.__module__.partition(".")[0] for cls in type(given).__mro__}
        if "torch" in roots and isinstance(given, sys.modules["torch"].Tensor):
            found = _torch()
        elif "numpy" in roots and hasattr(given, "__array_interface__") and hasattr(given, "strides"):
            found = NUMPY
        elif "cupy" in roots:
            found = _cupy()
        elif hasattr(given, "__dlpack__"):
            found = DLPACK
        else:
            raise Error(f"argument '{name}': expected a tensor with __dlpack__, such as those of NumPy, PyTorch, CuPy and JAX, but got "
                        f"{type(given).__name__}; tlc.tensor makes one of lists")
        _exchange.register(*found.exchange or ((type(given),),))
        FRAMEWORKS[type(given)] = found
    return found


def maker_of(given, own: Framework) -> Framework:
    """Of the tensors that a call returns: views of bits stand for tensors of their library."""
    if own is OURS and given.bits is not None:
        return maker_of(given.bits, framework_of(given.bits))
    return own


def counted(tensors: Iterable[Any]) -> List[Tuple[Callable[[Any], None], Any]]:
    """Those of libraries that count writes, and what tells them of one."""
    found = []
    for one in tensors:
        while type(one) is Tensor and one.bits is not None:
            one = one.bits
        note = framework_of(one).note_write
        if note is not None:
            found.append((note, one))
    return found


def describe(given, name: str, any_integer: bool = False) -> Array:
    array = framework_of(given, name).describe(given, name)
    if array.element.number < 0 and not any_integer:
        raise Error(f"argument '{name}': expected an element type of tlc, but got {array}; tlc.view(..., 'bf16') takes bits of bf16")
    if min(array.strides, default=0) < 0:
        raise Error(f"argument '{name}': expected strides of at least 0, but got {list(array.strides)} elements; copy it to contiguous memory")
    return array
