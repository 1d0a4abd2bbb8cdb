# SPDX-License-Identifier: Apache-2.0
"""A library of tensors with DLPack's exchange API, and a GPU for it, which is the emulator."""

import contextlib
import ctypes
import unittest.mock

from support import tlc
from tlc import _arrays, _devices, _exchange
from tlc._arrays import Array, Memory, _DlTensor, dense_strides, element_named

SUCCESS, FAILURE = 0, -1


class Managed(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
                    ("flags", ctypes.c_uint64), ("tensor", _DlTensor)]
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_DlTensor), ctypes.POINTER(ctypes.POINTER(Managed)), ctypes.c_void_p, ctypes.c_void_p)
DESCRIBE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_DlTensor))
STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Api(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p), ("allocate", ALLOCATE),
                ("own", ctypes.c_void_p), ("object_of", ctypes.c_void_p), ("describe", DESCRIBE), ("stream", STREAM)]


class Library:
    """What the tensors of a class below share."""

    def __init__(self):
        self.described, self.allocated, self.streams = 0, 0, []  # calls; the stream is asked of which devices
        self.result, self.stream = SUCCESS, 0x1000  # of all functions; the current one
        self.held = {}  # memory that launches have
        self.describe, self.current_stream = DESCRIBE(self._describe), STREAM(self._stream)
        self.api = Api(1, 3, None, ALLOCATE(self._allocate), None, None, self.describe, self.current_stream)
        self.delete = DELETER(self._delete)

    def _describe(self, address, to):
        self.described += 1
        tensor = ctypes.cast(address, ctypes.py_object).value
        to[0] = tensor.dl()
        return self.result

    def _stream(self, kind, device, to):
        self.streams.append((kind, device))
        to[0] = self.stream
        return self.result

    def _allocate(self, prototype, to, _context, _set_error):
        if self.result != SUCCESS:
            return self.result
        self.allocated += 1
        asked = prototype[0]
        assert (asked.device_type, asked.ndim, asked.dtype.code, asked.dtype.bits, asked.dtype.lanes) == (2, 1, 1, 8, 1)
        memory = Memory(_devices.gpu(asked.device_id), asked.shape[0] + 16)
        managed = Managed(1, 3, None, self.delete, 0)
        managed.tensor.data = memory.address + 16  # aligned to 16 bytes alone
        self.held[ctypes.addressof(managed)] = managed, memory
        to[0] = ctypes.pointer(managed)
        return SUCCESS

    def _delete(self, managed):
        del self.held[ctypes.addressof(managed.contents)]

    def capsule(self, api=None):
        return _arrays._new_capsule(ctypes.addressof(api or self.api), _exchange.CAPSULE, None)


class Base:
    """A tensor on a GPU. Classes of tests derive from it, with a library of their own."""

    library: Library

    def __init__(self, array):
        self.array = array

    @classmethod
    def of(cls, nested, dtype, offset=0, device=0):
        """`offset` bytes past a multiple of 256."""
        host, library = tlc.tensor(nested, dtype), tlc._interface.interface()
        made, raw = cls.empty(host.shape, host._array.element, device, offset), host._bytes()
        library.check(library.device_copy_in(_devices.gpu(device).handle, made.array.data, raw, len(raw)))
        return made

    @classmethod
    def empty(cls, shape, element, device, offset=0):
        element = element_named(element) if isinstance(element, str) else element
        size = max(1, _arrays.bytes_of(element, _arrays.math.prod(shape)))
        memory = Memory(_devices.gpu(device), size + offset)
        return cls(Array(memory.address + offset, element, tuple(shape), dense_strides(shape), device, memory))

    def permute(self, *axes):
        return type(self)(self.array.permuted(axes))

    @property
    def shape(self):
        return self.array.shape

    @property
    def dtype(self):
        return self.array.element.name

    def stride(self):
        return self.array.strides

    def tolist(self):
        return tlc.Tensor(self.array).tolist()

    def dl(self):
        array, name, count = self.array, self.array.element.name, len(self.array.shape)
        self.kept = (ctypes.c_int64 * count)(*array.shape), (ctypes.c_int64 * count)(*array.strides)
        code, pointer = _arrays._CODES[name if name in _arrays._CODES else name[0]], ctypes.POINTER(ctypes.c_int64)
        return _DlTensor(array.data, 2, array.device, count, _arrays._DlDataType(code, array.element.bits, 1),
                         *(ctypes.cast(extents, pointer) for extents in self.kept), 0)

    def __dlpack_device__(self):
        return 2, self.array.device

    def __dlpack__(self, stream=None):
        return tlc.Tensor(self.array).__dlpack__()


def new_type(library, name="Tensor", api=None, **register):
    """A type of tensors, which this package makes results of, too."""
    made = type(name, (Base,), {"library": library, _exchange.ATTRIBUTE: library.capsule(api)})
    _arrays.FRAMEWORKS[made] = _arrays.DLPACK._replace(
        empty=made.empty, address=lambda one: one.array.data, stream=lambda device: library.stream,
        maker=lambda shape, element, device: lambda: made.empty(shape, element, device))
    _exchange.register((made,), **register)
    return made


@contextlib.contextmanager
def emulated_gpus():
    """GPUs 0 and 1 are emulated ones. To itself each of them is number 0."""
    devices = {number: _devices._new_emulator(multiprocessors=4) for number in range(2)}
    for number, device in devices.items():
        device.number = number
    with unittest.mock.patch.dict(_devices._gpus, devices):
        yield
