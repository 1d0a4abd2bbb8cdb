// SPDX-License-Identifier: Apache-2.0
/// \file
/// Registration of dialects and passes.
#include "compiler/pipeline/Register.h"

#include "compiler/lowering/Passes.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/simt/Simt.h"
#include "dialects/tile/Tile.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tlc::registerDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect,
                  NVVM::NVVMDialect, program::ProgramDialect, scf::SCFDialect, simt::SimtDialect,
                  tile::TileDialect, ub::UBDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void tlc::registerPasses() {
  registerTransformsPasses(); // canonicalize, cse and the like
  registerLoweringPasses();
  registerPhasePasses();
  tile::registerTileTransformsPasses();
}
