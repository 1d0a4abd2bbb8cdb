// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels, where a thread is, register budgets, barriers among threads.
#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

namespace {

struct ParameterMemory {
  int64_t bytes = 0, alignment = 1; ///< 0 bytes: a number
};
ParameterMemory memoryOf(program::ParameterKind kind) {
  switch (kind) {
  case program::ParameterKind::tensorMap:
    return {tensorMapBytes, tensorMapAlignment};
  case program::ParameterKind::tensorMaps:
    return {maxRanks * tensorMapBytes, tensorMapAlignment};
  case program::ParameterKind::tensorPointers:
    return {maxRanks * pointerBytes, pointerBytes};
  default:
    return {};
  }
}

/// What LLVM must know of a parameter: a tensor map or a table is the parameter's own memory, not a pointer
/// to it.
DictionaryAttr attributesOfParameter(Builder &builder, program::ParameterAttr parameter) {
  SmallVector<NamedAttribute> attributes;
  if (ParameterMemory memory = memoryOf(parameter.getKind()); memory.bytes > 0) {
    Type storage = LLVM::LLVMArrayType::get(builder.getI8Type(), uint64_t(memory.bytes));
    attributes.emplace_back(builder.getStringAttr(LLVM::LLVMDialect::getByValAttrName()),
                            TypeAttr::get(storage));
    attributes.emplace_back(builder.getStringAttr(LLVM::LLVMDialect::getAlignAttrName()),
                            builder.getI64IntegerAttr(memory.alignment));
    attributes.emplace_back(builder.getStringAttr(NVVM::NVVMDialect::getGridConstantAttrName()),
                            builder.getUnitAttr());
  }
  return builder.getDictionaryAttr(attributes);
}

struct LowerKernel : OpConversionPattern<KernelOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(KernelOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()), op.getArgumentTypes());
    auto function = LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getSymName(), type);
    function->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                      rewriter.getDenseI32ArrayAttr({int32_t(op.getWarps() * lanesPerWarp), 1, 1}));
    // Without the least number of blocks the machine compiler ignores setmaxnreg.
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      rewriter.getI32IntegerAttr(int32_t(op.getResidents())));
    if (op.getCluster() > 1)
      function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                        rewriter.getDenseI32ArrayAttr({int32_t(op.getCluster()), 1, 1}));
    SmallVector<Attribute> parameters;
    for (unsigned index = 0; index < op.getNumArguments(); ++index) {
      auto parameter =
          cast<program::ParameterAttr>(op.getArgAttr(index, program::ProgramDialect::parameterAttrName));
      function.setArgAttrs(index, attributesOfParameter(rewriter, parameter));
      parameters.push_back(parameter);
    }
    bool ordered = op.walk([](LaunchOrderOp) { return WalkResult::interrupt(); }).wasInterrupted();
    function->setAttr(program::ProgramDialect::entryAttrName,
                      program::EntryAttr::get(getContext(), op.getLaunch(), op.getSchema(),
                                              op.getSchemaTypes(), op.getGrid(), op.getTensorMaps(),
                                              rewriter.getArrayAttr(parameters), ordered, op.getRolesAttr(),
                                              op.getSharedAttr(), op.getMarksAttr()));
    rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.end());
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerReturn : OpConversionPattern<simt::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(simt::ReturnOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

struct LowerSharedBase : OpConversionPattern<SharedBaseOp> {
  LowerSharedBase(const TypeConverter &converter, MLIRContext *context, LLVM::GlobalOp dynamicShared)
      : OpConversionPattern(converter, context), dynamicShared(dynamicShared) {}
  LogicalResult matchAndRewrite(SharedBaseOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(op, dynamicShared);
    return success();
  }
  mutable LLVM::GlobalOp dynamicShared;
};

struct LowerWarpIndex : OpConversionPattern<WarpIndexOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WarpIndexOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, i32);
    Value warp = LLVM::LShrOp::create(rewriter, loc, thread, constantI32(rewriter, loc, 5));
    rewriter.replaceOpWithNewOp<NVVM::ShflOp>(op, i32, constantI32(rewriter, loc, -1), warp,
                                              constantI32(rewriter, loc, 0), constantI32(rewriter, loc, 31),
                                              NVVM::ShflKind::idx, /*return_value_and_is_valid=*/UnitAttr());
    return success();
  }
};

struct LowerOpaque : OpConversionPattern<OpaqueOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(OpaqueOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, inlineAssembly(rewriter, op.getLoc(), "mov.b32 $0, $1;", "=r,r",
                                          op.getResult().getType(), adaptor.getValue()));
    return success();
  }
};

struct LowerElect : OpConversionPattern<ElectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ElectOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::ElectSyncOp>(op, rewriter.getI1Type(), /*membermask=*/Value());
    return success();
  }
};

struct LowerSetRegisters : OpConversionPattern<SetRegistersOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SetRegistersOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto action =
        op.getIncrease() ? NVVM::SetMaxRegisterAction::increase : NVVM::SetMaxRegisterAction::decrease;
    rewriter.replaceOpWithNewOp<NVVM::SetMaxRegisterOp>(op, op.getCount(), action);
    return success();
  }
};

struct LowerSync : OpConversionPattern<SyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SyncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value threads = op.getThreads() ? constantI32(rewriter, loc, *op.getThreads()) : Value();
    if (op.getArrive()) {
      if (!threads)
        threads = constantI32(rewriter, loc,
                              op->getParentOfType<FunctionOpInterface>()->getAttrOfType<DenseI32ArrayAttr>(
                                  NVVM::NVVMDialect::getMaxntidAttrName())[0]);
      rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
          op, rewriter.getStringAttr("llvm.nvvm.barrier.cta.arrive.aligned.count"),
          ValueRange{adaptor.getId(), threads});
      return success();
    }
    rewriter.replaceOpWithNewOp<NVVM::BarrierOp>(op, TypeRange(), adaptor.getId(), threads,
                                                 /*reductionOp=*/NVVM::BarrierReductionAttr(),
                                                 /*reductionPredicate=*/Value());
    return success();
  }
};

struct LowerWarpSync : OpConversionPattern<WarpSyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WarpSyncOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::SyncWarpOp>(op, constantI32(rewriter, op.getLoc(), -1));
    return success();
  }
};

struct LowerClusterSync : OpConversionPattern<ClusterSyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ClusterSyncOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    UnitAttr aligned = rewriter.getUnitAttr();
    if (op.getRelaxed())
      NVVM::ClusterArriveRelaxedOp::create(rewriter, op.getLoc(), aligned);
    else
      NVVM::ClusterArriveOp::create(rewriter, op.getLoc(), aligned);
    rewriter.replaceOpWithNewOp<NVVM::ClusterWaitOp>(op, aligned);
    return success();
  }
};

/// The intrinsics claim to touch no memory, so that loads could move above the wait.
struct LowerLaunchOrder : OpConversionPattern<LaunchOrderOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LaunchOrderOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    inlineAssembly(rewriter, op.getLoc(), "griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;",
                   "~{memory}", {}, {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerClusterRank : OpConversionPattern<ClusterRankOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ClusterRankOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::ClusterId>(op, rewriter.getI32Type());
    return success();
  }
};

} // namespace

void tlc::simt::populateControlPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                        LLVM::GlobalOp dynamicShared) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerKernel, LowerReturn, LowerWarpIndex, LowerOpaque, LowerElect, LowerSetRegisters,
               LowerSync, LowerWarpSync, LowerClusterSync, LowerClusterRank, LowerLaunchOrder>(converter,
                                                                                               context);
  patterns.add<LowerSharedBase>(converter, context, dynamicShared);
}
