#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that product code writes no number of the hardware and no arithmetic a
second time: facts are in runtime/target, rounding in runtime/support/Math.h.

    check_duplicates.py [<root>]

Three rules:

1. A constant whose name has a word of HARDWARE is no literal that a fact of
   runtime/target has for its value. Give it the fact, or a multiple of one.
2. Counts of warps and threads are not multiplied with, divided by or compared
   with literal sizes of a warp or a warpgroup.
3. Nothing spells out the quotient that `ceilDiv` computes.

CHOICES has constants that only happen to have such a value. Prints one line
per violation; exit status 1 if there is one.
"""

import os
import re
import sys

TOP_FOLDERS = ["runtime", "dialects", "compiler", "kernels", "tools"]
FACTS = "runtime/target"
# Programs made of chosen sizes, and the place of the arithmetic.
NOT_CHECKED = [FACTS, "runtime/support/Math.h", "tools/conformance"]
SOURCES = (".h", ".cpp")

# Words that speak of the hardware, as parts of camelCase names, without a final s.
HARDWARE = {"warp", "lane", "warpgroup", "barrier", "mbarrier", "arrival", "swizzle", "swizzled", "atom", "bank", "panel",
            "register", "wgmma", "mma", "box", "map", "descriptor", "matrix"}

# File and name -> why it is no fact.
CHOICES = {
    ("dialects/layout/Layout.h", "maxLayoutWarps"): "a bound beyond every machine's",
    ("compiler/strategies/LoadCompute.cpp", "warpsThatIssue"): "the role that issues is one thread, and a role is whole warps",
    ("kernels/softmax/Softmax.cpp", "leastWarps"): "how many warps a block has, by the length of rows",
    ("kernels/softmax/Softmax.cpp", "someWarps"): "likewise",
    ("kernels/softmax/Softmax.cpp", "manyWarps"): "likewise",
    ("kernels/softmax/Softmax.cpp", "mostWarps"): "likewise",
    ("runtime/emulator/check/Shadow.h", "severalLanes"): "a flag",
    ("runtime/emulator/check/Shadow.h", "oneLane"): "a flag",
    ("runtime/emulator/check/TensorCheck.cpp", "cellLanes"): "what one record stands for",
    ("runtime/emulator/exec/launch/Grid.cpp", "warps"): "how much is worth a thread of the host",
    ("runtime/emulator/exec/core/Program.h", "registerGranule"): "the host's vectors",
    ("runtime/emulator/math/TensorMma.cpp", "blockLanes"): "how the host's loops are cut",
}

NUMBER = r"(?:0x[0-9a-fA-F]+|\d+)[uUlL]*"
DEFINITION = re.compile(r"\bconstexpr\s+(?:static\s+|inline\s+)*(?:const\s+)?[\w:]+\s+([^;{]*?=[^;]*);")
NAMED_NUMBER = re.compile(rf"(?:^|,)\s*(\w+)\s*=\s*({NUMBER})\s*(?=,|$)")
FACT = re.compile(r"\binline constexpr int64_t (\w+) = ([^;]+);")
FIELD = re.compile(rf"^\s*(?:unsigned|int64_t|uint32_t) \w+ = ({NUMBER});", re.MULTILINE)

WARPS = r"\b(?:\w+(?:\.|->))*\w*[wW]arps?(?:OfBlock)?(?:\.index)?(?:\(\))?\s*(?:[*/%]|[<>]=?)\s*(?:4|32|128)\b"
THREADS = r"\b(?:\w+(?:\.|->))*\w*[tT]hreads?(?:\(\))?\s*[/%]\s*(?:32|128)\b"
SHIFTED = r"\b(?:shiftRight\([\w.>-]*[wW]arp\w*, [25]|bitAnd\([\w.>-]*[wW]arp\w*, (?:3|31))\b"
TIMES = r"\b(?:4|8)\s*\*\s*lanesPerWarp\b"
LITERAL_SIZE = re.compile(f"{WARPS}|{THREADS}|{SHIFTED}|{TIMES}")
QUOTIENT = re.compile(r"\+\s*([\w.>-]+)\s*-\s*1\)\s*/\s*\1(?![\w.])")


def words(name):
    """The parts of a camelCase name, in small letters, without a final s."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    return {part.lower().removesuffix("s") for part in parts}


def value_of(number):
    return int(number.rstrip("uUlL"), 0)


def facts(root):
    """The values that facts of runtime/target have."""
    values = {}
    folder = os.path.join(root, FACTS)
    with open(os.path.join(folder, "Hardware.h"), encoding="utf-8") as file:
        for fact, expression in FACT.findall(file.read()):
            values[fact] = eval(expression.replace("int64_t", "int").replace("/", "//"), {"int": int}, values)
    with open(os.path.join(folder, "Target.h"), encoding="utf-8") as file:
        numbers = {value_of(number) for number in FIELD.findall(file.read())}
    return numbers | set(values.values())


def without_comments(text):
    """The same lines, with blanks for comments and the insides of strings."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.DOTALL)


def check_file(path, text, values):
    text = without_comments(text)
    line = lambda position: text.count("\n", 0, position) + 1
    for definition in DEFINITION.finditer(text):
        for name, number in NAMED_NUMBER.findall(definition[1]):
            if words(name) & HARDWARE and value_of(number) in values and (path, name) not in CHOICES:
                yield (line(definition.start()),
                       f"'{name} = {number}' is a number of the hardware: take it from {FACTS}, or say in "
                       "check_duplicates.py what it is")
    for match in LITERAL_SIZE.finditer(text):
        yield line(match.start()), f"'{match[0]}': take the size of a warp or a warpgroup from {FACTS}/Hardware.h"
    for match in QUOTIENT.finditer(text):
        yield line(match.start()), f"'{match[0]}': use ceilDiv or alignTo of runtime/support/Math.h"


def check(root):
    """All violations under `root`, as text."""
    problems = []
    values = facts(root)
    for top in TOP_FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), root)
                if not name.endswith(SOURCES) or any(path == other or path.startswith(other + "/") for other in NOT_CHECKED):
                    continue
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    problems += [(path, number, problem) for number, problem in check_file(path, file.read(), values)]
    return [f"{path}:{number}: {problem}" for path, number, problem in sorted(problems)]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    problems = check(root)
    print("\n".join(problems) if problems else "duplicates: every number of the hardware is written once")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
