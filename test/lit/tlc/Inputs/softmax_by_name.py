# SPDX-License-Identifier: Apache-2.0
"""Sums rows of a softmax by the C interface, on an emulated GPU."""

import ctypes

ROWS, COLUMNS = 2, 64
TLC_F32 = 5


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("element", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("wait_limit", ctypes.c_double),
                ("device", ctypes.c_void_p), ("file", ctypes.c_void_p)]


def opened(path):
    library = ctypes.CDLL(path)  # its symbols are found through it alone
    for name in ("tlc_device_emulator", "tlc_compile_with"):
        getattr(library, name).restype = ctypes.c_void_p
    library.tlc_last_error.restype = ctypes.c_char_p
    library.own_device = ctypes.c_void_p(library.tlc_device_emulator(None))
    return library


def compiled(library, kernel, columns=COLUMNS):
    names, values = (ctypes.c_char_p * 2)(b"columns", b"dtype"), (ctypes.c_char_p * 2)(b"%d" % columns, b"f32")
    options = Options(ctypes.sizeof(Options), None, 0, library.own_device, None)
    return ctypes.c_void_p(library.tlc_compile_with(kernel, names, values, 2, ctypes.byref(options)))


def sums(library, columns=COLUMNS):
    program = compiled(library, b"softmax", columns)
    if not program:
        return library.tlc_last_error().decode()
    x, y = (ctypes.c_float * (ROWS * columns))(*range(ROWS * columns)), (ctypes.c_float * (ROWS * columns))()
    shape, strides = (ctypes.c_int64 * 2)(ROWS, columns), (ctypes.c_int64 * 2)(columns, 1)
    tensors = (Tensor * 2)()
    for tensor in tensors:
        data = ctypes.c_void_p()
        library.tlc_device_allocate(library.own_device, ctypes.c_size_t(ctypes.sizeof(x)), ctypes.byref(data))
        tensor.data, tensor.element, tensor.rank = data, TLC_F32, 2
        tensor.shape, tensor.strides = shape, strides
    library.tlc_device_copy_in(library.own_device, ctypes.c_void_p(tensors[0].data), x, ctypes.c_size_t(ctypes.sizeof(x)))
    if library.tlc_launch(program, tensors, 2, None, 0, None, 0, None) != 0:
        return library.tlc_last_error().decode()
    library.tlc_device_copy_out(library.own_device, y, ctypes.c_void_p(tensors[1].data), ctypes.c_size_t(ctypes.sizeof(y)))
    for tensor in tensors:
        library.tlc_device_free(library.own_device, ctypes.c_void_p(tensor.data))
    library.tlc_release(program)
    return " ".join(f"{sum(y[row * columns:(row + 1) * columns]):.6f}" for row in range(ROWS))
