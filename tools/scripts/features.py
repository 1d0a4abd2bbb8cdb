#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What this machine has beyond the build's own packages, and what is skipped
without it. Prints one line per feature; lit's configuration imports detect()."""

import ctypes
import glob
import os
import re
import shutil
import subprocess


def find_ptxas():
    return shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")


def find_cuda_toolkit():
    """The toolkit's root, recognised by its runtime compiler."""
    ptxas = find_ptxas()
    roots = ["/usr/local/cuda"]
    if ptxas:
        roots.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(ptxas))))
    for root in roots:
        if glob.glob(os.path.join(root, "lib64", "libnvrtc.so*")):
            return root
    return None


def find_gpu():
    """A description of the GPUs that the driver offers."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return None
    return f"{count.value} device{'s' if count.value > 1 else ''}"


def find_host_compiler():
    """A C++ compiler that is new enough for files of kernels."""
    for name in ("clang++", "clang++-22", "g++", "c++"):
        compiler = shutil.which(name)
        if compiler and is_new_enough(compiler):
            return compiler
    return None


def find_gcc():
    compiler = shutil.which("g++")
    return compiler if compiler and is_new_enough(compiler) else None


def find_rustc():
    """That of Debian, or any, with a C compiler, which links."""
    return shutil.which("cc") and shutil.which("rustc")


def find_go():
    return shutil.which("cc") and shutil.which("go")


def is_new_enough(compiler):
    done = subprocess.run([compiler, "-dM", "-E", "-x", "c++", os.devnull], capture_output=True, text=True)
    macros = dict(re.findall(r"#define (__clang_major__|__GNUC__) (\d+)", done.stdout))
    if "__clang_major__" in macros:
        return int(macros["__clang_major__"]) >= 16
    return int(macros.get("__GNUC__", 0)) >= 12


FEATURES = [
    # (name, how to find it, what is skipped without it)
    ("ptxas", find_ptxas, "assembling the emitted PTX"),
    ("cuda-toolkit", find_cuda_toolkit, "PTX of NVIDIA's own compilers on the emulator"),
    ("host-compiler", find_host_compiler, "files of kernels, which a C++ compiler compiles"),
    ("gcc", find_gcc, "files of kernels compiled by GCC"),
    ("rustc", find_rustc, "the C interface called from Rust"),
    ("go", find_go, "the C interface called from Go"),
    ("gpu", find_gpu, "everything that runs on a GPU; kernels run on the emulator alone"),
]


def detect():
    """Name -> where it was found, of the features this machine has."""
    return {name: found for name, find, _ in FEATURES if (found := find())}


if __name__ == "__main__":
    have = detect()
    for name, _, consequence in FEATURES:
        if name in have:
            print(f"{name}: {have[name]}")
        else:
            print(f"{name}: not found, skipped: {consequence}")
