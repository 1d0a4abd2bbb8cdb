// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared memory and barriers of other blocks of the cluster, and blocks that have not started.
#include "dialects/simt/Cluster.h"

#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc::simt;

/// No intrinsic: LLVM takes that for defined for all ranks, and would compute it for threads that a branch
/// keeps from ranks that there are not.
Value tlc::simt::addressInBlock(OpBuilder &builder, Location loc, Value address, Value rank) {
  Type i32 = builder.getI32Type();
  auto mapped = LLVM::InlineAsmOp::create(
      builder, loc, i32, ValueRange{LLVM::PtrToIntOp::create(builder, loc, i32, address), rank},
      "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
  auto pointer =
      LLVM::LLVMPointerType::get(builder.getContext(), unsigned(NVVM::NVVMMemorySpace::SharedCluster));
  return LLVM::IntToPtrOp::create(builder, loc, pointer, mapped.getRes());
}

namespace {

struct LowerAddressInBlock : OpConversionPattern<AddressInBlockOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AddressInBlockOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, addressInBlock(rewriter, op.getLoc(), adaptor.getAddress(), adaptor.getRank()));
    return success();
  }
};

struct LowerClusterArrive : OpConversionPattern<ClusterArriveOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ClusterArriveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value address = addressInBlock(rewriter, op.getLoc(), adaptor.getBarrier(), adaptor.getRank());
    auto arrive = NVVM::MBarrierArriveOp::create(rewriter, op.getLoc(), Type(), address, /*count=*/Value());
    arrive.setScope(NVVM::MemScopeKind::CLUSTER);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerBarrierState : OpConversionPattern<BarrierStateOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BarrierStateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::MBarrierArriveOp>(op, rewriter.getI64Type(), adaptor.getBarrier(),
                                                        /*count=*/Value());
    return success();
  }
};

struct LowerCancelBlock : OpConversionPattern<CancelBlockOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CancelBlockOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::ClusterLaunchControlTryCancelOp>(
        op, /*multicast=*/false, adaptor.getResponse(), adaptor.getBarrier());
    return success();
  }
};

/// No intrinsics: LLVM takes them for defined for all responses, and would compute the number of a block
/// where none was canceled.
struct LowerCanceledBlock : OpConversionPattern<CanceledBlockOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CanceledBlockOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type(), i64 = rewriter.getI64Type();
    Value halves = LLVM::LoadOp::create(rewriter, loc, VectorType::get(2, i64), adaptor.getResponse(),
                                        unsigned(tlc::cancelResponseBytes));
    auto half = [&](int64_t number) {
      return LLVM::ExtractElementOp::create(
          rewriter, loc, halves, LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(number)));
    };
    rewriter.replaceOpWithNewOp<LLVM::InlineAsmOp>(
        op, i32, ValueRange{half(0), half(1)},
        "{ .reg .pred canceled; .reg .b128 response; mov.b128 response, {$1, $2}; "
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, response; mov.b32 $0, -1; "
        "@canceled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 $0, response; }",
        "=&r,l,l", /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
        /*asm_dialect=*/LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
    return success();
  }
};

struct LowerClusterWait : OpConversionPattern<ClusterWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ClusterWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Block *before = op->getBlock();
    Block *after = rewriter.splitBlock(before, op->getIterator());
    Block *loop = rewriter.createBlock(after);
    auto complete = NVVM::MBarrierTryWaitOp::create(rewriter, loc, rewriter.getI1Type(), adaptor.getBarrier(),
                                                    adaptor.getState(), /*ticks=*/Value());
    complete.setScope(NVVM::MemScopeKind::CLUSTER);
    LLVM::CondBrOp::create(rewriter, loc, complete.getRes(), after, loop);
    rewriter.setInsertionPointToEnd(before);
    LLVM::BrOp::create(rewriter, loc, loop);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void tlc::simt::populateClusterPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerAddressInBlock, LowerClusterArrive, LowerBarrierState, LowerCancelBlock,
               LowerCanceledBlock, LowerClusterWait>(converter, patterns.getContext());
}
