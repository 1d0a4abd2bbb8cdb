// SPDX-License-Identifier: Apache-2.0
// The passes that leave the tile level, alphabetical. The order they run in is compiler/pipeline's.
#ifndef TLC_COMPILER_LOWERING_PASSES_TD
#define TLC_COMPILER_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimtToNvvm : Pass<"simt-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Turn the program of one thread into LLVM and NVVM operations";
  let description = [{
    Requires: phase `simt`; a target on the module.
    Ensures:  every `simt.kernel` is an `llvm.func` that is an entry point (`nvvm.kernel`), with its launch facts as `program.*`
              attributes; nothing is left but the LLVM dialect, NVVM operations, calls of NVVM intrinsics and inline assembly.
    Leaves to others: splitting fragments, which are still vectors, into registers (compiler/codegen).

    In this order: the products of matrices, whose registers are tied to fences and waits by what surrounds them
    (Wgmma.cpp); then everything else, operation by operation.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::vector::VectorDialect", "::mlir::ub::UBDialect"];
}

#endif
