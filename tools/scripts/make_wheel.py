#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a folder as a wheel whose bytes depend on its files alone.

    make_wheel.py <folder with the package tlc> <folder of licences> <folder for the wheel>

Prints the path of the wheel. Files bear the time SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import os
import platform
import re
import sys
import time
import zipfile

METADATA = """Metadata-Version: 2.1
Name: tlc
Version: {version}
Summary: Tile language and compiler for NVIDIA GPUs: kernels for the tensors of PyTorch, NumPy, CuPy and JAX
License: Apache-2.0
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Description-Content-Type: text/markdown

Kernels for CUDA tensors on their GPU, and for tensors of the CPU on an emulated one, whose checker finds races. It needs
neither a CUDA toolkit nor a C++ compiler, and no version of PyTorch.

    import torch, tlc
    q = k = v = torch.randn(1, 4096, 32, 128, dtype=torch.bfloat16, device="cuda")
    o = tlc.attention(q, k, v, causal="left")
"""
WHEEL = """Wheel-Version: 1.0
Generator: tlc
Root-Is-Purelib: false
Tag: {tag}
"""


def main(folder, licences, output):
    with open(os.path.join(folder, "tlc", "_version.py"), encoding="utf-8") as file:
        version = re.search(r'__version__ = "(.*)"', file.read()).group(1)
    tag = f"py3-none-manylinux_2_36_{platform.machine()}"
    info = f"tlc-{version}.dist-info"
    files = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, folder)] = file.read()
    for name in os.listdir(licences):
        with open(os.path.join(licences, name), "rb") as file:
            files[f"{info}/licenses/{name}"] = file.read()
    files[f"{info}/METADATA"] = METADATA.format(version=version).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    record = []
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(files[name])}\n")
    record.append(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = "".join(record).encode()

    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # a ZIP begins in 1980
    path = os.path.join(output, f"tlc-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda name: (name.startswith(info), name)):  # the info last, as the format asks
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, files[name], compresslevel=9)
    print(path)


main(*sys.argv[1:])
