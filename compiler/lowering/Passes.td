// SPDX-License-Identifier: Apache-2.0
// The passes that leave the tile level, alphabetical. The order they run in is compiler/pipeline's.
#ifndef TLC_COMPILER_LOWERING_PASSES_TD
#define TLC_COMPILER_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def PruneAlignment : Pass<"simt-prune-alignment", "::tlc::simt::KernelOp"> {
  let summary = "Keep of the tensors' alignment only what the kernel relies on";
  let description = [{
    Requires: phase `simt`.
    Ensures:  in the kernel's schema a tensor has an alignment above 1 only if a tensor map or an access of several elements at once
              is made of it. The launcher checks what is left.
  }];
}

def RecordTimes : Pass<"simt-record-times", "::mlir::ModuleOp"> {
  let summary = "Let a kernel record when its warps wait and begin iterations, for a profile";
  let description = [{
    Requires: phase `simt`.
    Ensures:  the module has the variable `profileBufferName` (runtime/artifact/Profile.h), and kernel number `launch` has `marks`. In block
              `block`, and the others of its cluster, one thread of each warp records when the warp begins and ends; each of its
              waits; and each iteration of its outermost loops, until `records` are full. Later ones are counted.

    The position in the buffer is a register of each thread, which holds a negative number where nothing is recorded: so a record is
    a store under a predicate, without a branch. What is recorded starts after `simt.launch_order`, so that no two launches record
    at once.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect"];
  let options = [
    Option<"records", "records", "unsigned", "4096", "Of each warp; a power of two">,
    Option<"block", "block", "unsigned", "0", "Counted in x, then y, then z">,
    Option<"launch", "launch", "unsigned", "0", "Which kernel of the module">];
}

def SimtToNvvm : Pass<"simt-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Turn the program of one thread into LLVM and NVVM operations";
  let description = [{
    Requires: phase `simt`; a target on the module.
    Ensures:  every `simt.kernel` is an `llvm.func` that is an entry point (`nvvm.kernel`), with its launch facts in
              `program.launch`; nothing is left but the LLVM dialect, NVVM operations, calls of NVVM intrinsics and inline assembly.

    In this order: the products of matrices, whose registers are tied to fences and waits by what surrounds them
    (Wgmma.cpp); fragments, which become single registers (Fragments.cpp); then operation by operation.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::vector::VectorDialect", "::mlir::ub::UBDialect"];
}

def TileToSimt : Pass<"tile-to-simt", "::mlir::ModuleOp"> {
  let summary = "Turn the program of a block into that of each of its threads";
  let description = [{
    Requires: phase `planned`; a target on the module.
    Ensures:  every `tile.kernel` is a `simt.kernel`: an index is i32, a fragment a vector of the thread's registers in the order of its
              layout, shared memory `!llvm.ptr<3>`, a cursor the pair (slot, phase). Roles are branches on the warp's number;
              barriers are initialised at entry; the launch facts (parameters, tensor maps, grid, shared memory) are the kernel's attributes.
    Leaves to others: what instructions look like (`simt-to-nvvm`), common subexpressions.
  }];
  let dependentDialects = ["::tlc::simt::SimtDialect"];
}

#endif
