# SPDX-License-Identifier: Apache-2.0
"""Gives a library the name of another build: change_build.py <file>"""

import sys

with open(sys.argv[1], "r+b") as file:
    header = file.read(1 << 16)
    note = header.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
    file.seek(note)
    file.write(bytes(byte ^ 255 for byte in header[note:note + 20]))
