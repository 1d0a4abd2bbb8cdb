# SPDX-License-Identifier: Apache-2.0
"""Sums rows of a softmax by two copies of libtlc: two_copies.py <libtlc.so> <libtlc.so>"""

import sys

from softmax_by_name import compiled, opened, sums

one, two = (opened(path) for path in sys.argv[1:])
print("one:", sums(one))
print("two:", sums(two))
# Each has errors of its own.
compiled(one, b"no_kernel")
compiled(two, b"nothing")
print("one:", one.tlc_last_error().decode())
print("two:", two.tlc_last_error().decode())
two.tlc_device_release(two.own_device)
print("one:", sums(one))
