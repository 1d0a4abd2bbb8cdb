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
#include "runtime/artifact/Reports.h"
#include "runtime/target/CodeTarget.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

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
  auto array = LLVM::GlobalOp::create(
      builder, module.getLoc(), LLVM::LLVMArrayType::get(builder.getI8Type(), 0), /*isConstant=*/false,
      LLVM::Linkage::External, "dynamic_shared", /*value=*/Attribute(),
      /*alignment=*/swizzleAlignment, unsigned(NVVM::NVVMMemorySpace::Shared));
  SymbolTable(module).insert(array, module.getBody()->begin()); // renames it if a kernel has that name
  return array;
}

/// What kernels report, a variable that the host finds by its name.
LLVM::GlobalOp declareReportBuffer(ModuleOp module) {
  OpBuilder builder(module.getContext());
  auto buffer = LLVM::GlobalOp::create(
      builder, module.getLoc(), LLVM::LLVMArrayType::get(builder.getI8Type(), reportBufferBytes),
      /*isConstant=*/false, LLVM::Linkage::External, reportBufferName,
      LLVM::ZeroAttr::get(module.getContext()), /*alignment=*/16, unsigned(NVVM::NVVMMemorySpace::Global));
  SymbolTable(module).insert(buffer, module.getBody()->begin());
  return buffer;
}

/// Erases the variables of which no function takes the address. MLIR's search for uses of a symbol reads all
/// attributes: a quarter of this pass.
void eraseUnused(ModuleOp module, ArrayRef<LLVM::GlobalOp> variables) {
  llvm::SmallDenseSet<StringAttr> used;
  module.walk([&](LLVM::AddressOfOp op) { used.insert(op.getGlobalNameAttr().getAttr()); });
  for (LLVM::GlobalOp variable : variables)
    if (!used.contains(variable.getSymNameAttr()))
      variable.erase();
}

bool isIdentifier(StringRef name) {
  return !name.empty() && llvm::isAlpha(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// LLVM stops the process at an instruction that the target lacks, so we look first.
LogicalResult verifyOperation(Operation *op, const Target &target) {
  if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return verifyMath(op);
  if (auto kernel = dyn_cast<KernelOp>(op); kernel && !isIdentifier(kernel.getSymName()))
    return kernel.emitError()
           << "expected a name of letters, digits and '_' that begins with a letter because it is "
              "the entry's name in PTX, but got '"
           << kernel.getSymName() << "'";
  std::optional<Unit> missing = program::missingUnit(op, target);
  if (!missing)
    return success();
  return op->emitError() << "expected a target with " << describe(*missing) << ", but got '"
                         << StringRef(target.name) << "'";
}

class SimtToNvvm : public tlc::impl::SimtToNvvmBase<SimtToNvvm> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    const Target *target = program::findTarget(module);
    if (!target) {
      module.emitError() << "expected '" << program::ProgramDialect::targetAttrName << "' on the module";
      return signalPassFailure();
    }
    WalkResult valid = module.walk([&](Operation *op) {
      return failed(verifyOperation(op, *target)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (valid.wasInterrupted())
      return signalPassFailure();
    const std::string pairs[] = {"f32x2"};
    const bool hasPairsOfF32 = !missingInstruction(*parseCodeTarget(target->name), "add", pairs);
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      lowerWgmma(kernel);
      splitFragments(kernel, hasPairsOfF32);
    }

    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(32);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    populateAsyncPatterns(converter, patterns);
    populateClusterPatterns(converter, patterns);
    LLVM::GlobalOp dynamicShared = declareDynamicShared(module);
    populateControlPatterns(converter, patterns, dynamicShared);
    populateMathPatterns(converter, patterns);
    populateMatrixPatterns(converter, patterns);
    populateMemoryPatterns(converter, patterns);
    LLVM::GlobalOp reportBuffer = declareReportBuffer(module);
    llvm::SetVector<program::ReportAttr> reportSites;
    populateReportPatterns(converter, patterns, reportBuffer, reportSites);
    populateTensorMemoryPatterns(converter, patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/true, /*benefit=*/0);
    populateSCFToControlFlowConversionPatterns(patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);

    ConversionTarget legal(*context);
    legal.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    legal.addLegalOp<ModuleOp>();
    ConversionConfig config;
    config.allowPatternRollback = false; // the log for that takes half of the time
    if (failed(applyFullConversion(module, legal, std::move(patterns), config)))
      return signalPassFailure();
    eraseUnused(module, {dynamicShared, reportBuffer});
    if (!reportSites.empty())
      module->setAttr(
          program::ProgramDialect::reportsAttrName,
          Builder(context).getArrayAttr(SmallVector<Attribute>(reportSites.begin(), reportSites.end())));
  }
};

} // namespace
