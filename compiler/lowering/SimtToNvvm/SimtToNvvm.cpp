// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pass `simt-to-nvvm`: afterwards the module holds functions of the LLVM dialect, one entry point for
/// each kernel.
#include "compiler/lowering/Passes.h"
#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

namespace tlc {
#define GEN_PASS_DEF_SIMTTONVVM
#include "compiler/lowering/Passes.h.inc"
} // namespace tlc

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

namespace {

/// The launch gives a block's shared memory as one array without a size; swizzled tiles in it want 1024 bytes
/// of alignment.
LLVM::GlobalOp declareDynamicShared(ModuleOp module) {
  OpBuilder builder(module.getContext());
  auto array = LLVM::GlobalOp::create(builder, module.getLoc(),
                                      LLVM::LLVMArrayType::get(builder.getI8Type(), 0), /*isConstant=*/false,
                                      LLVM::Linkage::External, "dynamic_shared", /*value=*/Attribute(),
                                      /*alignment=*/1024, unsigned(NVVM::NVVMMemorySpace::Shared));
  SymbolTable(module).insert(array, module.getBody()->begin()); // renames it if a kernel has that name
  return array;
}

class SimtToNvvm : public tlc::impl::SimtToNvvmBase<SimtToNvvm> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    WalkResult valid = module.walk([](Operation *op) {
      return isa_and_nonnull<math::MathDialect>(op->getDialect()) && failed(verifyMath(op))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (valid.wasInterrupted())
      return signalPassFailure();
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      lowerWgmma(kernel);
      splitFragments(kernel);
    }

    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(32);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    populateAsyncPatterns(converter, patterns);
    populateControlPatterns(converter, patterns, declareDynamicShared(module));
    populateMathPatterns(converter, patterns);
    populateMatrixPatterns(converter, patterns);
    populateMemoryPatterns(converter, patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/true, /*benefit=*/0);
    populateSCFToControlFlowConversionPatterns(patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);

    ConversionTarget target(*context);
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addLegalOp<ModuleOp>();
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
