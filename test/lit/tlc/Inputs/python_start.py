# SPDX-License-Identifier: Apache-2.0
"""A softmax by the Python package, and the libraries of the compiler that are then in the address space: python_start.py <libtlc.so>"""

import sys

import tlc
from compiler_library import mapped

tlc.use_library(sys.argv[1])
y = tlc.softmax(tlc.tensor([[1.0] * 64, [2.0] * 64], "f32"))
print("softmax:", *(f"{sum(row):.6f}" for row in y.tolist()))
print("kernels:", len(dir(tlc.ops)) > 0)
print("mapped:", mapped())
