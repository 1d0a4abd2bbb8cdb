# SPDX-License-Identifier: Apache-2.0
"""Writes programs that are too deep or too large: nested.py <kind> <count>."""

import sys

kind, count = sys.argv[1], int(sys.argv[2])
head = '''module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @k(%n: index {program.argument = #program.dimension<"n">},
               %A: !tile.global<?xf32> {program.argument = #program.tensor<"A", output, dims[0]>}) {
%c = arith.constant 1 : i1
%x0 = arith.addi %n, %n : index
'''
tail = "tile.return\n}\n}"


def chain():
    return "".join(f"%x{i + 1} = arith.addi %x{i}, %n : index\n" for i in range(count))


slice_of = "tile.slice %A[%p] : !tile.global<?xf32> -> !tile.slice<64xf32>"
store = f'''%zero = arith.constant 0.0 : f32
%v = tile.splat %zero : f32 -> tensor<64xf32>
%s = {slice_of}
tile.store %v, %s : tensor<64xf32>, !tile.slice<64xf32>
'''
use = f"module attributes {{x.a = #a{count - 1}}} {{}}"
print({
    "chain": lambda: head + chain() + f"%p = tile.grid %x{count} : index\n" + store + tail,
    "position": lambda: head + chain() + f"%g = tile.grid %n : index\n%p = arith.addi %x{count}, %g : index\n" + store + tail,
    "constants": lambda: head + "".join(
        f"%k{i} = arith.constant {i * 7919 + 1} : index\n%x{i + 1} = arith.addi %x{i}, %k{i} : index\n"
        for i in range(count)) + f"%p = tile.grid %x{count} : index\n" + store + tail,
    "ifs": lambda: head + "scf.if %c {\n" * count + "}\n" * count + tail,
    "brackets": lambda: "module attributes {a = " + "[" * count + "]" * count + "} {}",
    "terms": lambda: "#m = affine_map<(d0) -> (d0" + " + d0" * (count - 1) + ")>\nmodule {}",
    "modules": lambda: "module {\n" * count + "}\n" * count,
    "aliases": lambda: "#a0 = [1]\n" + "".join(f"#a{i} =\n [#a{i - 1}]\n" for i in range(1, count)) + use,
    "types": lambda: "!a0 = i32\n" + "".join(f"!a{i} = tuple<!a{i - 1}>\n" for i in range(1, count)) + "module {}",
    "doubled": lambda: "#a0 = [1]\n" + "".join(f"#a{i} = [#a{i - 1}, #a{i - 1}]\n" for i in range(1, count)) + use,
    "uses": lambda: "#a0 = [1]\nmodule attributes {x.a = [" + "#a0, " * count + "#a0]} {}",
    "float": lambda: f"module attributes {{x.a = 1.{'1' * (count - 2)} : f32}} {{}}",
    "integer": lambda: f"module attributes {{x.a = {'1' * count} : i64}} {{}}",
    "resource": lambda: f"""module {{}}
{{-# dialect_resources: {{ builtin: {{ blob: "0x{count.to_bytes(4, 'little').hex()}00112233" }} }} #-}}""",
    "result": lambda: head + f"%y = arith.addi %n#{count}, %n : index\n" + tail,
}[kind]())
