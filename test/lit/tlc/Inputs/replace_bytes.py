# SPDX-License-Identifier: Apache-2.0
"""Copies a file with other bytes: replace_bytes.py <from> <bytes> <bytes instead> <to>, bytes in hexadecimal."""

import sys

source, wanted, instead, target = sys.argv[1:]
with open(source, "rb") as file:
    content = file.read()
if bytes.fromhex(wanted) not in content:
    sys.exit(f"expected the bytes {wanted} in '{source}'")
with open(target, "wb") as file:
    file.write(content.replace(bytes.fromhex(wanted), bytes.fromhex(instead)))
