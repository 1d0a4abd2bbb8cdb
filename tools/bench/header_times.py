# SPDX-License-Identifier: Apache-2.0
"""header_times.py INCLUDE [COMPILER]: CPU time of a C++ compiler, g++ unless it is named, for files that include tlc's headers in
this folder (build/include), as text and precompiled. The cases run in turns; the times are the smallest of the rounds."""

import os
import resource
import subprocess
import sys
import tempfile

ROUNDS = 7
REFERENCE = "#include <string>\n#include <vector>\n"
STANDARD = "".join(f"#include <{name}>\n" for name in ("functional", "map", "memory", "optional", "source_location", "span", "string",
                                                       "string_view", "variant", "vector"))
KERNELS = "#include <tlc/kernel.h>\nvoid registerKernels(tlc::KernelFile &) {}\n"


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cases_in(folder, include, compiler):
    """Commands by name; files and precompiled headers are written to the folder."""
    base = [compiler, "-std=c++20", "-Winvalid-pch", "-I", include, "-isystem", os.path.join(include, "tlc")]

    def of_text(name, text):
        path = os.path.join(folder, name + ".cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return [*base, "-fsyntax-only", path]

    def precompiled(name, text):
        header = os.path.join(folder, name + ".h")
        with open(header, "w", encoding="utf-8") as file:
            file.write(text.splitlines()[0] + "\n")
        output = header + (".pch" if "clang" in compiler else ".gch")
        subprocess.run([*base, "-w", "-x", "c++-header", header, "-o", output], check=True)
        return [*of_text(name, text), "-include", header]

    return {"<string> and <vector>": of_text("reference", REFERENCE),
            "the headers of the standard library": of_text("standard", STANDARD),
            "<tlc/jit.h>": of_text("jit", "#include <tlc/jit.h>\n"),
            "<tlc/jit.h>, precompiled": precompiled("precompiled_jit", "#include <tlc/jit.h>\n"),
            "<tlc/kernel.h>": of_text("kernel", KERNELS),
            "<tlc/kernel.h>, precompiled": precompiled("precompiled_kernel", KERNELS)}


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(f"expected a folder of headers, and perhaps a compiler, but got {len(sys.argv) - 1} arguments")
    with tempfile.TemporaryDirectory() as folder:
        cases = cases_in(folder, os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else "g++")
        times = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, command in cases.items():
                times[name].append(cpu_seconds(command))
        reference = min(next(iter(times.values())))
        for name, seconds in times.items():
            print(f"{name:36} {min(seconds):.2f} s, {min(seconds) / reference:.2f} times the first")


if __name__ == "__main__":
    main()
