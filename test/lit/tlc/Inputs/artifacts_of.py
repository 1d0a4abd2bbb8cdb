# SPDX-License-Identifier: Apache-2.0
"""artifacts_of.py ARCHIVE: the artifacts in an archive of `tlc build`, decompressed, one after the other."""

import struct
import sys

MAGIC = b"tlc-aot\n" + struct.pack("<Q", 3)


def decompressed(block):
    """A block of LZ4."""
    result, at = bytearray(), 0

    def length(value):
        nonlocal at
        more = 255
        while value >= 15 and more == 255:
            more = block[at]
            value, at = value + more, at + 1
        return value

    while True:
        token, at = block[at], at + 1
        literals = length(token >> 4)
        result += block[at:at + literals]
        at += literals
        if at == len(block):
            return bytes(result)
        distance, at = block[at] | block[at + 1] << 8, at + 2
        for _ in range(length(token & 15) + 4):
            result.append(result[-distance])


def artifacts(image):
    at = len(MAGIC) + 8

    def number():
        nonlocal at
        at += 8
        return struct.unpack_from("<Q", image, at - 8)[0]

    def text():
        nonlocal at
        size = number()
        at += size
        return image[at - size:at]

    text()  # the function
    for _ in range(number()):
        text()  # the target
        size, stored = number(), text()
        yield stored if len(stored) == size else decompressed(stored)


with open(sys.argv[1], "rb") as file:
    archive = file.read()
begin = archive.find(MAGIC)
while begin >= 0:
    for artifact in artifacts(archive[begin:]):
        sys.stdout.buffer.write(artifact)
    begin = archive.find(MAGIC, begin + 1)
