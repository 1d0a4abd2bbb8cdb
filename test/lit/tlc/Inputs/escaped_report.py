# SPDX-License-Identifier: Apache-2.0
"""Writes a report again whose version begins with a control character: escaped_report.py FROM TO"""
import struct
import sys


def decompress(block: bytes) -> bytes:
    """A block of LZ4."""
    at, out = 0, bytearray()

    def length(nibble: int) -> int:
        nonlocal at
        total, last = nibble, 255 if nibble == 15 else 0
        while last == 255:
            last = block[at]
            at += 1
            total += last
        return total

    while at < len(block):
        token = block[at]
        at += 1
        literals = length(token >> 4)
        out += block[at : at + literals]
        at += literals
        if at == len(block):
            break
        distance = block[at] | block[at + 1] << 8
        at += 2
        for _ in range(length(token & 15) + 4):
            out.append(out[-distance])
    return bytes(out)


def literals(content: bytes) -> bytes:
    """A block without repetitions, of more than 15 bytes."""
    left = len(content) - 15
    return b"\xf0" + b"\xff" * (left // 255) + bytes([left % 255]) + content


def digits(content: bytes) -> str:
    """FNV-1a of 128 bits."""
    state = 0x6C62272E07BB014262B821756295C58D
    for byte in content:
        state = (state ^ byte) * ((1 << 88) + 0x13B) % (1 << 128)
    return f"{state:032x}"


with open(sys.argv[1], "rb") as file:
    line, block = file.read().split(b"\n", 1)
content = bytearray(decompress(block))
assert struct.unpack_from("<Q", content)[0] > 0
content[8] = 0x1B
block = literals(bytes(content))
word, version = line.split()[:2]
with open(sys.argv[2], "wb") as file:
    file.write(b"%s %s %d %d %s\n" % (word, version, len(block), len(content), digits(content).encode()))
    file.write(block)
