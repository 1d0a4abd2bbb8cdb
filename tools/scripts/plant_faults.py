#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the differential test catch a broken compiler? Plants one fault at a time in a copy of the tree, builds
tlc-differential there and says which program is the first that fails, and how. Programs that fail without a fault, too,
are left out: that is asked of a driver without one.

  plant_faults.py                  every fault, each within 2000 programs
  plant_faults.py swizzle phase    these faults
  plant_faults.py --check          only whether each fault still has its place in the sources

Exit status 1 if a fault is not found, or has no place."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANALYSIS = "compiler/analysis/"
LOWERING = "compiler/lowering/TileToSimt/"
TRANSFORMS = "compiler/transforms/"
BATCH = 50  # programs that are tried before it is looked whether one failed


@dataclass
class Fault:
    """One rule of the compiler, and the edit that breaks it. `old` occurs once in the file."""

    name: str
    rule: str
    file: str
    old: str
    new: str


FAULTS = [
    Fault("wait", "a wait lets as many products go on as it says", LOWERING + "Gemm.cpp",
          "ValueRange{value}, op.getPending());", "ValueRange{value}, op.getPending() + 1);"),
    Fault("fence", "the asynchronous proxy is told of ordinary writes", TRANSFORMS + "PlaceFences.cpp",
          "      ProxyFenceOp::create(builder, before->getLoc(), fencesTensors);\n", ""),
    Fault("read-fence", "the asynchronous proxy is told of ordinary reads", ANALYSIS + "BufferAccesses.cpp",
          "overlapsAny(ordinary.writes) || asynchronous.writes.overlaps(ordinary.reads) ||",
          "overlapsAny(ordinary.writes) ||"),
    Fault("combined-order", "what atomic operations combine in shared memory is ordered among other accesses",
          ANALYSIS + "BufferAccesses.cpp",
          " || combinesWhat(earlier) || earlier.combinesWhat(*this);", ";"),
    Fault("tensor-memory-before", "accesses to tensor memory are fenced before others go on",
          TRANSFORMS + "PlaceTensorMemoryFences.cpp",
          "        createFence(op, /*after=*/false);\n", "        ;\n"),
    Fault("tensor-memory-after", "accesses to tensor memory are fenced after what they wait for",
          TRANSFORMS + "PlaceTensorMemoryFences.cpp",
          "      createFence(op, /*after=*/true);\n", "      ;\n"),
    Fault("after-products", "an arrival after products waits for them", LOWERING + "TensorMemory.cpp",
          "simt::Tcgen05CommitOp::create(k.b, barrier);", "simt::BarrierArriveOp::create(k.b, barrier, Value());"),
    Fault("tensor-memory-order", "warps meet between accesses to tensor memory", ANALYSIS + "BufferAccesses.cpp",
          "return !access.isShared() && !access.isTensorMemory(); });\n  return accesses;",
          "return !access.isShared(); });\n  return accesses;"),
    Fault("product-order", "warps meet between the end of a product and writes to its factors",
          TRANSFORMS + "PlaceFences.cpp", "        accessed.add(product.accessed);\n", "        ;\n"),
    Fault("register-factor", "a product is complete before its left factor's registers are written again",
          ANALYSIS + "LoopProblem.cpp",
          "    if (!factor)\n      continue;\n    RegisterWriters",
          "    if (loop || !factor)\n      continue;\n    RegisterWriters"),
    Fault("atomic", "reads of what atomic additions may have changed come after a barrier", ANALYSIS + "TensorAccesses.cpp",
          " ||\n          earlier.kind != later.kind)", ")"),
    Fault("store-order", "stores of one box by different threads have a barrier between them", ANALYSIS + "TensorAccesses.cpp",
          " && from.getType() == to.getType() &&\n", " &&\n"),
    Fault("guard", "elements from the tensor's end on are outside", LOWERING + "GlobalAccess.cpp",
          "b.isBelow(at, ends[axis]);",
          "b.isBelow(at, b.add(ends[axis], 1));"),
    Fault("limit", "a limit ends the tensor", LOWERING + "Copy.cpp",
          "    end = k.b.clamp(inUnits(k.b, k.value(op.getLimit()), slice, slice.limitedAxis), end);\n", ""),
    Fault("swizzle", "a swizzle adds the row's number to the chunk's", LOWERING + "SharedAccess.cpp",
          "b.bitAnd(b.shiftRight(offset, 3), swizzledBits(layout.swizzle()))",
          "b.bitAnd(b.shiftRight(offset, 4), swizzledBits(layout.swizzle()))"),
    Fault("shared-guard", "elements from a shared tile's end on are outside", LOWERING + "SharedSlices.cpp",
          "guard = b.isBelow(coordinate(axis, constant), ends[axis]);",
          "guard = b.isBelow(coordinate(axis, constant), b.add(ends[axis], 1));"),
    Fault("transposition", "matrix moves transpose what lies the other way round", LOWERING + "MatrixAccess.cpp",
          "plan.transpose = match.form == MatrixFragment::Form::transposed;",
          "plan.transpose = match.form != MatrixFragment::Form::transposed;"),
    Fault("slot-count", "every slot of a ring has memory of its own", LOWERING + "Copy.cpp",
          "k.b.mul(k.cursor(op.getCursor()).slot, slotPitch(tile.layout))",
          "k.b.mul(k.b.smaller(k.cursor(op.getCursor()).slot, k.b.i32(1)), slotPitch(tile.layout))"),
    Fault("mask-split", "the second part of a split loop begins in the loop", TRANSFORMS + "SplitLoops.cpp",
          "  middle = arith::MaxSIOp::create(builder, loc, middle, loop.getLowerBound());\n", ""),
    Fault("conversion", "narrowing rounds to the nearest", "compiler/lowering/SimtToNvvm/Fragments.cpp",
          '"llvm.nvvm.ff2f16x2.rn" : "llvm.nvvm.ff2bf16x2.rn"',
          '"llvm.nvvm.ff2f16x2.rz" : "llvm.nvvm.ff2bf16x2.rz"'),
    Fault("phase", "the phase of a ring changes when its last slot was used", LOWERING + "Sync.cpp",
          "Cursor{at.slot, k.b.bitXor(at.phase, k.b.i32(1))}", "Cursor{at.slot, at.phase}"),
    Fault("reduction", "a reduction takes the part of every warp", LOWERING + "Reduce.cpp",
          "for (int64_t part = 0; part < parts; ++part) {",
          "for (int64_t part = 0; part < parts - (parts > 2); ++part) {"),
    Fault("cluster-sync", "the blocks of a cluster meet between accesses to each other's tiles",
          TRANSFORMS + "PlaceClusterSyncs.cpp",
          "    if (conflict(accessed, accesses))\n      meet(op, accessed);\n", ""),
    Fault("cluster-end", "no block ends while others access its memory", LOWERING + "Lowering.cpp",
          " || !maps.empty() || accessesOtherBlocks))", " || !maps.empty()))"),
    Fault("index-width", "positions are signed when they become 64 bits wide", LOWERING + "Emitter.cpp",
          "return arith::ExtSIOp::create(*this, getI64Type(), value);",
          "return arith::ExtUIOp::create(*this, getI64Type(), value);"),
]


def misplaced(fault):
    """Why the fault cannot be planted; nothing if it can."""
    count = (ROOT / fault.file).read_text().count(fault.old)
    return "" if count == 1 else f"{fault.name}: {fault.file} has its place {count} times, once expected"


def copy_tree(folder):
    """What git tracks, as it is in the working tree; what did not change is left, so that little is built again."""
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout
    for name in files.decode().split("\0")[:-1]:
        source, copy = ROOT / name, folder / name
        if copy.exists() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


def build(folder, what):
    """The driver."""
    if not (folder / "build/CMakeCache.txt").exists():
        subprocess.run(["cmake", "--preset", "dev"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    built = subprocess.run(["cmake", "--build", "build", "--target", "tlc-differential"], cwd=folder,
                           capture_output=True, text=True)
    if built.returncode:
        sys.exit(f"{built.stdout[-4000:]}\n{what}: does not build")
    return folder / "build/bin/tlc-differential"


def failures(driver, first, count, jobs):
    """The programs that fail, in order: (seed, verdict and message)."""
    run = subprocess.run([driver, "--seeds", f"{first}:{count}", "--reductions", "0", "--jobs", str(jobs)],
                         capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"{run.stdout}{run.stderr}{driver} ended with status {run.returncode}")
    found = re.findall(r"^seed (\d+): (.*)", run.stdout, re.MULTILINE)
    return sorted((int(seed), message) for seed, message in found)


def first_failure(driver, sound, options):
    """(The number of programs tried, what failed), or nothing if none of them did."""
    for begin in range(options.first, options.first + options.programs, BATCH):
        for seed, message in failures(driver, begin, BATCH, options.jobs):
            if not failures(sound, seed, 1, 1):
                return seed - options.first + 1, message
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="fault", help=", ".join(fault.name for fault in FAULTS))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/planted", help="the copy of the tree")
    options = parser.parse_args()
    unknown = set(options.names) - {fault.name for fault in FAULTS}
    if unknown:
        parser.error(f"no fault is named {', '.join(sorted(unknown))}")
    chosen = [fault for fault in FAULTS if not options.names or fault.name in options.names]
    problems = [problem for fault in FAULTS if (problem := misplaced(fault))]
    if problems or options.check:
        print("\n".join(problems) or f"{len(FAULTS)} faults have their places")
        return 1 if problems else 0

    options.folder.mkdir(parents=True, exist_ok=True)
    copy_tree(options.folder)
    sound = shutil.copy(build(options.folder, "the tree without a fault"), options.folder / "sound")
    missed = 0
    for fault in chosen:
        copy_tree(options.folder)
        path = options.folder / fault.file
        path.write_text(path.read_text().replace(fault.old, fault.new))
        found = first_failure(build(options.folder, fault.name), sound, options)
        if found:
            print(f"{fault.name}: found by program {found[0]} ({fault.rule}): {found[1][:300]}", flush=True)
        else:
            missed += 1
            print(f"{fault.name}: NOT found by {options.programs} programs ({fault.rule})", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
