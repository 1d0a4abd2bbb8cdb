# SPDX-License-Identifier: Apache-2.0
"""Changes headers whose names are odd, and checks that the command compiles its file again. The arguments are a folder and the
command, which is given the file."""
import os
import subprocess
import sys

folder, command = sys.argv[1], sys.argv[2:]
for name in ("a b.h", "a\\b.h", "a\tb.h", "a$b#.h", "a:b.h", "ä.h"):
    source, header = os.path.join(folder, "odd.cpp"), os.path.join(folder, name)
    for value in ("first", "second"):
        with open(header, "w") as file:
            file.write(f'#define ODD "{value}"\n')
        with open(source, "w") as file:
            file.write(f'#include <tlc/kernel.h>\n#include "{name}"\nvoid registerKernels(tlc::KernelFile &file) '
                       '{ file.kernel("odd", ODD).program([](tlc::dsl::Scope &) {}); }\n')
        shown = subprocess.run(command + [source], capture_output=True, text=True)
        if f"odd: {value}" not in shown.stdout:
            sys.exit(f"{name!r}, {value}: {shown.stdout} {shown.stderr}")
