#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of the forms of PTX instructions that the compiler emits, test/forms/forms.txt: where each has run.

    forms.py add <record>...              marks what a record says, and adds new forms
    forms.py check <record>...            fails if a form of a record is not in the table
    forms.py sample <tlc-differential>    compiles a few random programs and checks their forms
    forms.py sites                        fails if a place in compiler/lowering that emits an instruction has no form
    forms.py left                         prints what has not run on a GPU though one of sm_90 can run it

Records come from `tlc-differential --forms`, `tlc run --verify --forms` and from programs_test and programs_cuda_test with
TLC_FORMS: lines of a device and a form.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TABLE = os.path.join(ROOT, "test", "forms", "forms.txt")
HEAD = """\
# Where each form of PTX instructions has run, with the right result: on a GPU, on the emulator only, or nowhere yet
# (compiled). Written by tools/scripts/forms.py; docs/developing.md says how.
"""
# Best last: a form keeps the best mark.
MARKS = {"none": "compiled", "emulator": "emulator", "cuda": "gpu"}
RANKS = list(MARKS.values())
# What a GPU of sm_90 does not run.
ELSEWHERE = [
    (r"tcgen05\.|(add|sub|mul|fma)(\.rn)?\.f32x2|(min|max)\.f32 r, r, r, r$|(add|sub|fma)\.rn\.f32\.(f16|bf16)|cvt\..*e2m1x2|cvt\.(u8\.u16|u16\.u8)", "sm_100a"),
    (r"multimem\.|fence\.proxy\.alias", "NVLink multicast"),
]

# What the operations of NVVM and the intrinsics become; the rest of compiler/lowering is text.
OPERATIONS = {
    "BarrierOp": r"bar(rier)?\.", "BlockIdXOp": r"mov\.u32", "BlockIdYOp": r"mov\.u32", "BlockIdZOp": r"mov\.u32",
    "ClusterArriveOp": r"barrier\.cluster\.arrive\.aligned", "ClusterArriveRelaxedOp": r"barrier\.cluster\.arrive\.relaxed",
    "ClusterLaunchControlTryCancelOp": r"clusterlaunchcontrol\.try_cancel",
    "ClusterWaitOp": r"barrier\.cluster\.wait", "CpAsyncBulkCommitGroupOp": r"cp\.async\.bulk\.commit_group",
    "CpAsyncBulkTensorGlobalToSharedClusterOp": r"cp\.async\.bulk\.tensor\.\dd\.shared::cluster\.global",
    "CpAsyncBulkTensorReduceOp": r"cp\.reduce\.async\.bulk\.tensor",
    "CpAsyncBulkTensorSharedCTAToGlobalOp": r"cp\.async\.bulk\.tensor\.\dd\.global\.shared::cta",
    "CpAsyncBulkWaitGroupOp": r"cp\.async\.bulk\.wait_group", "CpAsyncCommitGroupOp": r"cp\.async\.commit_group",
    "CpAsyncMBarrierArriveOp": r"cp\.async\.mbarrier\.arrive", "CpAsyncOp": r"cp\.async\.c[ag]\.",
    "CpAsyncWaitGroupOp": r"cp\.async\.wait_(group|all)", "ElectSyncOp": r"elect\.sync",
    "FenceMbarrierInitOp": r"fence\.mbarrier_init", "FenceProxyOp": r"fence\.proxy\.async", "GlobalTimerOp": r"mov\.u64",
    "GridDimXOp": r"mov\.u32", "LdMatrixOp": r"ldmatrix\.", "MBarrierArriveExpectTxOp": r"mbarrier\.arrive\.expect_tx",
    "MBarrierArriveOp": r"mbarrier\.arrive\.", "MBarrierInitOp": r"mbarrier\.init",
    "MBarrierTryWaitOp": r"mbarrier\.try_wait", "ReduxOp": r"redux\.sync", "SetMaxRegisterOp": r"setmaxnreg\.",
    "ShflOp": r"shfl\.sync", "StMatrixOp": r"stmatrix\.", "SyncWarpOp": r"bar\.warp\.sync",
    "Tcgen05AllocOp": r"tcgen05\.alloc", "Tcgen05CommitOp": r"tcgen05\.commit", "Tcgen05DeallocOp": r"tcgen05\.dealloc",
    "Tcgen05FenceOp": r"tcgen05\.fence", "Tcgen05LdOp": r"tcgen05\.ld", "Tcgen05MMAOp": r"tcgen05\.mma",
    "Tcgen05RelinquishAllocPermitOp": r"tcgen05\.relinquish", "Tcgen05StOp": r"tcgen05\.st",
    "Tcgen05WaitOp": r"tcgen05\.wait", "ThreadIdXOp": r"mov\.u32", "VoteSyncOp": r"vote\.sync",
    "WgmmaFenceAlignedOp": r"wgmma\.fence", "WgmmaGroupSyncAlignedOp": r"wgmma\.commit_group",
    "WgmmaWaitGroupSyncOp": r"wgmma\.wait_group",
}
INTRINSICS = {
    "": r"cvt\.rn\.f16x2\.e\dm\dx2",  # the name goes on with a type
    "barrier.cta.arrive.aligned.count": r"bar(rier\.cta)?\.arrive", "cos.approx.ftz.f": r"cos\.approx",
    "div.full": r"div\.full", "ex2.approx.ftz.f32": r"ex2\.approx", "ff.to.": r"cvt\.rn\.satfinite\.e\dm\dx2", "ff2bf16x2.rn": r"cvt\.rn\.bf16x2",
    "ff2f16x2.rn": r"cvt\.rn\.f16x2", "lg2.approx.ftz.f": r"lg2\.approx", "mma.": r"mma\.sync",
    "prefetch.tensormap": r"prefetch\.tensormap", "prmt": r"prmt", "rcp.approx.ftz.f": r"rcp\.approx",
    "rsqrt.approx.ftz.f": r"rsqrt\.approx", "sin.approx.ftz.f": r"sin\.approx", "sqrt.approx.ftz.f": r"sqrt\.approx",
    "sqrt.rn.f": r"sqrt\.rn",
}
# Words before a dot that begin no opcode: operations of MLIR, and parts of names.
NO_OPCODE = r"(tile|simt|llvm|arith|nvvm|scf|math|builtin|program|x2|m16n8k16)\."


def read_table():
    table = {}
    if os.path.exists(TABLE):
        with open(TABLE, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    mark, _, form = line.rstrip("\n").split("\t")
                    table[form] = mark
    return table


def elsewhere(form):
    return next((needs for pattern, needs in ELSEWHERE if re.match(pattern, form)), "-")


def write_table(table):
    os.makedirs(os.path.dirname(TABLE), exist_ok=True)
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(f"{table[form]}\t{elsewhere(form)}\t{form}\n" for form in sorted(table)))


def read_records(paths):
    """Form -> best mark."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                device, form = line.rstrip("\n").split("\t")
                found[form] = max(MARKS[device], found.get(form, RANKS[0]), key=RANKS.index)
    return found


def add(paths):
    table = read_table()
    for form, mark in read_records(paths).items():
        table[form] = max(mark, table.get(form, RANKS[0]), key=RANKS.index)
    write_table(table)
    counts = {mark: list(table.values()).count(mark) for mark in RANKS}
    print(", ".join(f"{count} {mark}" for mark, count in counts.items()))
    return 0


def check(paths):
    table = read_table()
    new = sorted(form for form in read_records(paths) if form not in table)
    for form in new:
        print(f"{form}: this form is not in test/forms/forms.txt; run a program that has it, and 'forms.py add' its record")
    return 1 if new else 0


def sample(differential):
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "forms")
        subprocess.run([differential, "--device", "none", "--seeds", "101:12", "--forms", record], check=True,
                       stdout=subprocess.DEVNULL)
        return check([record])


def sites():
    """(file, what it emits, pattern of a form); pattern None: not known."""
    for path in sorted(glob.glob(os.path.join(ROOT, "compiler", "lowering", "**", "*.cpp"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"//.*", "", file.read())
        name = os.path.relpath(path, ROOT)
        for operation in set(re.findall(r"NVVM::(\w+Op)(?:>|::create)", text)):
            yield name, f"NVVM::{operation}", OPERATIONS.get(operation)
        for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text)):
            if literal.startswith("llvm.nvvm."):
                yield name, literal, INTRINSICS.get(literal.removeprefix("llvm.nvvm."))
                continue
            for part in re.split(r"\\n|\\t|;", literal):
                opcode = re.match(r"(?:\{0\})?(?:@\S+ )?([a-z][a-z0-9_]*\.[\w:.{}]*)(?: |$)", part.strip())
                if opcode and not re.match(NO_OPCODE, opcode[1]):
                    yield name, opcode[1], re.sub(r"\\\{\d\\\}", ".*", re.escape(opcode[1]))


def check_sites():
    forms, status = list(read_table()), 0
    for file, emitted, pattern in sites():
        if pattern is None:
            print(f"{file}: {emitted} is not in the tables of tools/scripts/forms.py")
        elif not any(re.match(pattern, form) for form in forms):
            print(f"{file}: no form in test/forms/forms.txt is of {emitted}")
        else:
            continue
        status = 1
    return status


def left():
    for form, mark in sorted(read_table().items()):
        if mark != "gpu" and elsewhere(form) == "-":
            print(f"{mark}\t{form}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("add", "check"):
        commands.add_parser(name).add_argument("records", nargs="+")
    commands.add_parser("sample").add_argument("differential")
    commands.add_parser("sites")
    commands.add_parser("left")
    options = parser.parse_args()
    if options.command == "add":
        return add(options.records)
    if options.command == "check":
        return check(options.records)
    if options.command == "sample":
        return sample(options.differential)
    return check_sites() if options.command == "sites" else left()


if __name__ == "__main__":
    sys.exit(main())
