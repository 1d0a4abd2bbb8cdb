#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every include against the layers of the project.

LAYERS below is the whole rule: a folder may include itself and what its row
names. Prints one line per violation; exit status 1 if there is one.

    check_layers.py [<root>]
"""

import os
import re
import sys

# Outside the project, by the first part of the include path.
MLIR = "mlir"
LLVM = "llvm"
FMT = "fmt"
CATCH2 = "catch2"
BENCHMARK = "benchmark"
CUDA = "cuda.h"  # types and constants of the driver's interface; the driver itself is opened at run time
CUDA_SIGNATURES = "cudaTypedefs.h"  # types of its functions, of each version
NVTX = "nvtx3"  # its header of ranges for profilers
CUDA_RUNTIME = "cuda_runtime_api.h"  # its functions, which a test provides
AHEAD = "first.h"  # what `tlc build` writes for a test
OWN = "tlc"  # our headers as files of kernels include them
LIBRARIES = [AHEAD, OWN, MLIR, LLVM, FMT, CATCH2, BENCHMARK, CUDA, CUDA_SIGNATURES, CUDA_RUNTIME, NVTX]

# Headers of the C library and of Linux that have no C++ name; more may be added.
SYSTEM = ["cxxabi.h", "dirent.h", "dlfcn.h", "elf.h", "fcntl.h", "link.h", "poll.h", "pthread.h", "signal.h", "stddef.h", "stdint.h",
          "stdio.h", "stdlib.h", "spawn.h", "time.h", "unistd.h"]

# Short names for groups of folders that rows share.
BASE = ["runtime/support", FMT]
ARTIFACT = BASE + ["runtime/target", "runtime/artifact"]
EMULATION = ARTIFACT + ["runtime/device", "runtime/emulator/report", "runtime/emulator/ptx", "runtime/emulator/math"]
EXECUTION = EMULATION + ["runtime/emulator/exec/core", "runtime/emulator/exec/decode"]
DIALECTS = ["dialects/tile", "dialects/simt", "dialects/program", "dialects/layout", "dialects/support", MLIR, LLVM]
# What a kernel's class for the registry needs.
REGISTRY = ["kernels/Describe.h", "kernels/Parameter.h", "kernels/Parameters.h", "kernels/Registry.h", "kernels/KernelList.h", "kernels/Tolerance.h"]
# What kernels of attention have in common; none of them sees another.
ATTENTION = REGISTRY + ["compiler/dsl", "kernels/ranks", "kernels/reference"] + [
    "kernels/attention/" + room for room in ["problem", "intervals", "mask", "schedule", "logits", "registry"]]

# What compiles and launches kernels needs.
LIBRARY = REGISTRY + ["kernels/attention", "kernels/gemm", "kernels/softmax", "compiler/dsl", "compiler/pipeline", "runtime"]

# Folder -> what it may include besides itself. The longest matching row counts
# for the including and for the included file; a file in no row is an error.
LAYERS = {
    "runtime/support": [FMT],
    "runtime/target": BASE,
    "runtime/artifact": BASE + ["runtime/target"],
    "runtime/cache": ARTIFACT + ["runtime/device", "runtime/nvrtc"],
    "runtime/device": ARTIFACT,
    "runtime/cuda": ARTIFACT + ["runtime/device", "runtime/nccl", CUDA, CUDA_SIGNATURES, NVTX],
    "runtime/nccl": BASE,
    "runtime/nvrtc": BASE,
    "runtime/aot": ARTIFACT + ["runtime/device", "runtime/cuda", "runtime/emulator"],
    "runtime/emulator": ARTIFACT + ["runtime/device", "runtime/emulator"],
    "runtime/emulator/report": BASE,
    "runtime/emulator/ptx": BASE + ["runtime/target"],
    "runtime/emulator/math": ARTIFACT + ["runtime/device"],
    "runtime/emulator/exec/core": EMULATION,
    "runtime/emulator/exec/decode": EXECUTION,
    "runtime/emulator/exec/launch": EMULATION + ["runtime/emulator/exec/core"],
    "runtime/emulator/exec/scalar": EXECUTION,
    "runtime/emulator/exec/memory": EXECUTION,
    "runtime/emulator/exec/control": EXECUTION,
    "runtime/emulator/exec/sync": EXECUTION + ["runtime/emulator/exec/memory"],
    "runtime/emulator/exec/async": EXECUTION + ["runtime/emulator/exec/memory"],
    "runtime/emulator/exec/matrix": EXECUTION,
    "runtime/emulator/exec/tensor": EXECUTION,
    "runtime/emulator/check": EMULATION + ["runtime/emulator/exec/core"],
    "runtime/emulator/trace": EMULATION + ["runtime/emulator/exec/core"],
    "runtime/emulator/origin": EMULATION + ["runtime/emulator/exec/core", "runtime/emulator/exec/async"],
    "dialects/support": [],
    "dialects/layout": BASE + ["runtime/target"],
    "dialects/program": ARTIFACT + ["dialects/support", MLIR, LLVM],
    "dialects/tile": ARTIFACT + ["dialects/program", "dialects/layout", "dialects/support", MLIR, LLVM],
    "dialects/simt": ARTIFACT + ["dialects/program", "dialects/layout", "dialects/support", MLIR, LLVM],
    "compiler/cuda": BASE + [LLVM],
    "compiler/dsl": ARTIFACT + DIALECTS,
    "compiler/evaluator": ARTIFACT + DIALECTS,
    "compiler/solvers": BASE + ["runtime/target", "dialects/layout"],
    "compiler/analysis": ARTIFACT + DIALECTS + ["compiler/solvers"],
    "compiler/strategies": ARTIFACT + DIALECTS + ["compiler/analysis"],
    "compiler/transforms": ARTIFACT + DIALECTS + ["compiler/solvers", "compiler/analysis", "compiler/strategies", "compiler/cuda", "runtime/nvrtc"],
    "compiler/lowering": ARTIFACT + DIALECTS + ["compiler/solvers", "compiler/analysis"],
    "compiler/codegen": ARTIFACT + DIALECTS,
    "compiler/pipeline": ARTIFACT + DIALECTS + ["compiler"],
    "kernels": ARTIFACT + ["compiler/dsl", "kernels/ranks", "kernels/reference", "kernels/roles"],
    "kernels/ranks": ["compiler/dsl", FMT],
    "kernels/reference": BASE + ["kernels/attention/problem/Options.h"],
    "kernels/attention/problem": ARTIFACT + REGISTRY + ["compiler/dsl"],
    "kernels/attention/intervals": ["compiler/dsl"],
    "kernels/attention/mask": ["compiler/dsl", "kernels/attention/problem", "kernels/attention/intervals"],
    "kernels/attention/schedule": ["compiler/dsl", "kernels/attention/problem", "kernels/attention/mask"],
    "kernels/attention/logits": ["compiler/dsl", "kernels/attention/problem", "kernels/attention/mask"],
    "kernels/attention/registry": ARTIFACT + REGISTRY + ["kernels/reference", "kernels/attention/problem"],
    "kernels/roles": ["compiler/dsl", "runtime/target"],
    "kernels/attention/backward": ARTIFACT + ATTENTION + ["kernels/roles"],
    "kernels/attention/forward": ARTIFACT + ATTENTION + ["kernels/roles"],
    "kernels/attention/decode": ARTIFACT + ATTENTION + ["kernels/roles"],
    "kernels/attention/dispatch": ARTIFACT + ATTENTION + ["kernels/attention/forward", "kernels/attention/decode"],
    "kernels/library": ARTIFACT + LIBRARY + ["kernels/library/call"],
    "kernels/library/call": ARTIFACT + LIBRARY + ["kernels/library/Compile.h", "compiler/codegen/Ptxas.h", MLIR, LLVM],
    "kernels/tuning": ARTIFACT + LIBRARY + ["kernels/library", "kernels/library/call", LLVM],
    "kernels/harness": ARTIFACT + LIBRARY + ["kernels/library"],
    "kernels/file": ARTIFACT + LIBRARY + ["kernels/library/call", "dialects/program", "dialects/tile", MLIR, LLVM],
    "kernels/cookbook": [OWN],  # files as users write them
    "kernels/cookbook/Cookbook.h": ["kernels/Registry.h"],
    "kernels/cookbook/Cookbook.cpp": REGISTRY + ["kernels/cookbook/Cookbook.h", "kernels/file", FMT],
    "tools/tlc/New.cpp": [OWN, "tools", "kernels", "runtime", LLVM],  # it has the text of such a file
    "tools": ["tools", "kernels", "compiler", "dialects", "runtime", FMT, MLIR, LLVM],
    "tools/conformance": ["runtime", FMT, CUDA],
    "tools/wrap": ARTIFACT + ["runtime/emulator/ptx", "tools/aot/ArgumentText.h"],
    "test/aot": [AHEAD],
    "test/files": [OWN],
    "test/install/first": [OWN],
    "test/install/outside": [OWN],
    "test": ["test", "tools", "kernels", "compiler", "dialects", "runtime", FMT, MLIR, LLVM, CATCH2, BENCHMARK, CUDA,
             CUDA_RUNTIME, NVTX],
}

# Including one of these must not bring in MLIR or LLVM, by whatever way:
# kernels see headers of the compiler, and those are plain C++.
FREE_OF_MLIR = ["runtime", "dialects/layout", "compiler/solvers", "kernels"]
MAY_REACH_MLIR = ["kernels/library", "kernels/library/call", "kernels/tuning", "kernels/harness", "kernels/file"]

TOP_FOLDERS = ["runtime", "dialects", "compiler", "kernels", "tools", "test"]
SOURCES = (".h", ".cpp", ".def", ".td")
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*([<"])([^>"]+)[>"]')


def is_under(path, folder):
    return path == folder or path.startswith(folder + "/")


def layer_of(path):
    """The row of LAYERS that `path` belongs to, or None."""
    rows = [folder for folder in LAYERS if is_under(path, folder)]
    return max(rows, key=len) if rows else None


def includes_of(root, path):
    """(line number, '<' or '"', path) of each include in a file."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if match := INCLUDE.match(line):
                yield number, match[1], match[2]


def is_allowed(layer, target):
    """Whether `layer` may include the project file or library header `target`."""
    return layer_of(target) == layer or any(is_under(target, allowed) for allowed in LAYERS[layer])


def check_include(root, layer, quote, target):
    """What is wrong with one include, or None."""
    first = target.split("/")[0]
    if first in TOP_FOLDERS:
        if quote == "<":
            return f'expected quotes around "{target}", a file of this project'
        if not target.endswith(".inc") and not os.path.exists(os.path.join(root, target)):
            return f'"{target}" does not exist'
        target_layer = layer_of(target)
        if target_layer is None:
            return f'"{target}" is in no layer'
        if not is_allowed(layer, target):
            return f'{layer} must not include {target_layer} ("{target}")'
        return None
    if first in LIBRARIES:
        return None if is_allowed(layer, target) else f'{layer} must not include {first} ("{target}")'
    if quote == '"':
        return f'"{target}" is not relative to the root of the project'
    if target in SYSTEM or re.fullmatch(r"[a-z_0-9]+|sys/[a-z_]+\.h", target):
        return None  # the C++ library and the system's
    return f"<{target}> is of no library that the project uses"


def way_to_mlir(root, path, seen):
    """The chain of includes from `path` to a header of MLIR or LLVM, or None."""
    for _, _, target in includes_of(root, path):
        first = target.split("/")[0]
        if first in (MLIR, LLVM):
            return [path, target]
        if first not in TOP_FOLDERS or target in seen or not os.path.exists(os.path.join(root, target)):
            continue
        seen.add(target)
        if way := way_to_mlir(root, target, seen):
            return [path] + way
    return None


def check(root):
    """All violations under `root`, as text."""
    problems = []
    files = []
    for top in TOP_FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            files += [os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(SOURCES)]
    for path in sorted(files):
        layer = layer_of(path)
        if layer is None:
            problems.append(f"{path}: in no layer; add its folder to LAYERS of check_layers.py")
            continue
        for number, quote, target in includes_of(root, path):
            if problem := check_include(root, layer, quote, target):
                problems.append(f"{path}:{number}: {problem}")
        if any(is_under(path, free) for free in FREE_OF_MLIR) and layer not in MAY_REACH_MLIR:
            if way := way_to_mlir(root, path, {path}):
                problems.append(f"{path}: {layer} must not reach MLIR or LLVM, but does by {' -> '.join(way[1:])}")
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    problems = check(root)
    print("\n".join(problems) if problems else "layers: every include is allowed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
