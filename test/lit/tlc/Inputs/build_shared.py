# SPDX-License-Identifier: Apache-2.0
"""Calls softmax of each library: pairs of a path and the prefix of its functions."""

import ctypes
import sys


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.c_int64 * 2), ("strides", ctypes.c_int64 * 2)]


class Arguments(ctypes.Structure):
    _fields_ = [("X", Tensor), ("Y", Tensor)]


ROWS, COLUMNS = 2, 50
for path, prefix in zip(sys.argv[1::2], sys.argv[2::2]):
    library = ctypes.CDLL(path)
    last_error = getattr(library, prefix + "_last_error")
    last_error.restype = ctypes.c_char_p
    emulate = getattr(library, prefix + "_softmax_emulate")
    x, y = ((ctypes.c_float * (ROWS * COLUMNS))(*range(ROWS * COLUMNS)) for _ in range(2))
    arguments = Arguments(*(Tensor(ctypes.addressof(each), (ROWS, COLUMNS)) for each in (x, y)))
    if emulate(ctypes.byref(arguments)) != 0:
        sys.exit(last_error().decode())
    print(f"{prefix}:", *(f"{sum(y[row * COLUMNS:(row + 1) * COLUMNS]):.6f}" for row in range(ROWS)))
print(emulate(None), last_error().decode())
