// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs passes over the simt dialect. It knows no tile: what leaks fails to parse.
#include "dialects/program/Program.h"
#include "dialects/simt/Simt.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Transforms/Passes.h"
#include "tools/opt/OptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tlc::program::ProgramDialect, tlc::simt::SimtDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  mlir::registerTransformsPasses();
  return tlc::optMain(argc, argv, "driver of the simt dialect\n", registry);
}
