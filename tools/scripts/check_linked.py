#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists what a build has linked into its programs and libraries, and checks that it has the licence of each.

    check_linked.py <build folder>

What other packages install and the loader finds at run time is not linked in. Exit status 1 if a licence is missing in
share/doc/tlc/licenses of the build, or if a library is one that this script does not know.
"""

import os
import re
import sys

OUTPUTS = ["bin/tlc", "lib/libtlc.so", "lib/libtlc_compiler.so", "lib/libtlc_runtime.so", "lib/libtlc_runtime.a"]
# The licence of a library, by the begin of its file's name.
LICENCES = [("libMLIR", "llvm"), ("libLLVM", "llvm"), ("libz.a", "zlib"), ("libzstd.a", "zstd"), ("libfmt.a", "fmt")]


def words_of(ninja, output):
    """The words of the command that links a file."""
    found = re.search(rf"^build (?:[^\n:]* )?{re.escape(output)}(?: [^\n:]*)?:([^\n]*)\n((?:  [^\n]*\n)*)", ninja, re.MULTILINE)
    if not found:
        raise ValueError(f"expected a rule for '{output}', but build.ninja has none")
    variables = dict(re.findall(r"^  (\w+) = (.*)$", found.group(2), re.MULTILINE))
    return (found.group(1) + " " + variables.get("LINK_LIBRARIES", "") + " " + variables.get("LINK_FLAGS", "")).split()


def linked_in(words):
    """The licences of what the words link in, and libraries without one."""
    licences, unknown = {"fmt"}, set()  # all inline its headers
    for word in words:
        if word in ("-static-libstdc++", "-static-libgcc"):
            licences.add("libstdc++")
        if not word.endswith(".a") or (not os.path.isabs(word) and os.sep in word):
            continue
        name = os.path.basename(word)
        if name.startswith("libtlc_"):
            continue
        licence = [each for begin, each in LICENCES if name.startswith(begin)]
        licences.update(licence)
        if not licence:
            unknown.add(name)
    return licences, unknown


def main(build):
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        ninja = file.read()
    failed = False
    for output in OUTPUTS:
        licences, unknown = linked_in(words_of(ninja, output))
        print(f"{output}: {', '.join(sorted(licences))}")
        for name in sorted(unknown):
            print(f"{output}: expected a library whose licence is known, but got {name}; LICENCES of {sys.argv[0]} has them")
            failed = True
        for licence in sorted(licences | {"tlc"}):
            path = os.path.join(build, "share", "doc", "tlc", "licenses", licence)
            if not os.path.isfile(path):
                print(f"{output}: expected the licence of {licence} in '{path}', but found none")
                failed = True
    return failed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
