// SPDX-License-Identifier: Apache-2.0
/// \file
/// mbarriers, the tensor memory accelerator and fences between proxies.
#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "runtime/target/Hardware.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc::simt;

namespace {

Type sharedClusterPointer(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context, unsigned(NVVM::NVVMMemorySpace::SharedCluster));
}

struct LowerBarrierInit : OpConversionPattern<BarrierInitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BarrierInitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value count = constantI32(rewriter, op.getLoc(), op.getCount());
    rewriter.replaceOpWithNewOp<NVVM::MBarrierInitOp>(op, adaptor.getBarrier(), count, /*predicate=*/Value());
    return success();
  }
};

struct LowerBarrierInitFence : OpConversionPattern<BarrierInitFenceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BarrierInitFenceOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::FenceMbarrierInitOp>(op);
    return success();
  }
};

struct LowerBarrierArrive : OpConversionPattern<BarrierArriveOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BarrierArriveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value one = constantI32(rewriter, loc, 1);
    if (!adaptor.getRank()) {
      NVVM::MBarrierArriveOp::create(rewriter, loc, rewriter.getI64Type(), adaptor.getBarrier(), one);
    } else {
      // Scope cta although the barrier is another block's: what it orders is this block's reads of its own
      // buffer before the TMA overwrites it. Scope cluster would put a fence of the whole memory into the
      // loop.
      Value address = addressInBlock(rewriter, loc, adaptor.getBarrier(), adaptor.getRank());
      NVVM::MBarrierArriveOp::create(rewriter, loc, Type(), address, one);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerBarrierArriveAfterCopies : OpConversionPattern<BarrierArriveAfterCopiesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BarrierArriveAfterCopiesOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncMBarrierArriveOp>(op, adaptor.getBarrier(), /*noinc=*/true);
    return success();
  }
};

struct LowerBarrierExpect : OpConversionPattern<BarrierExpectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BarrierExpectOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value bytes = constantI32(rewriter, op.getLoc(), op.getBytes());
    NVVM::MBarrierArriveExpectTxOp::create(rewriter, op.getLoc(), rewriter.getI64Type(), adaptor.getBarrier(),
                                           bytes, NVVM::MemScopeKind::CTA, /*relaxed=*/false,
                                           /*predicate=*/Value());
    rewriter.eraseOp(op);
    return success();
  }
};

/// A block that tries again until the phase is complete: the instruction itself may give up after a while.
struct LowerBarrierWait : OpConversionPattern<BarrierWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BarrierWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Block *before = op->getBlock();
    Block *after = rewriter.splitBlock(before, op->getIterator());
    Block *loop = rewriter.createBlock(after);
    Value complete = NVVM::MBarrierTryWaitOp::create(
        rewriter, loc, rewriter.getI1Type(), adaptor.getBarrier(), adaptor.getParity(), /*ticks=*/Value());
    LLVM::CondBrOp::create(rewriter, loc, complete, after, loop);
    rewriter.setInsertionPointToEnd(before);
    LLVM::BrOp::create(rewriter, loc, loop);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerBarrierTryWait : OpConversionPattern<BarrierTryWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BarrierTryWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto tried = NVVM::MBarrierTryWaitOp::create(rewriter, op.getLoc(), rewriter.getI1Type(),
                                                 adaptor.getBarrier(), adaptor.getPhase(), /*ticks=*/Value());
    if (adaptor.getPhase().getType().isInteger(64))
      tried.setScope(NVVM::MemScopeKind::CLUSTER);
    rewriter.replaceOp(op, tried.getRes());
    return success();
  }
};

struct LowerTmaLoad : OpConversionPattern<TmaLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(TmaLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type cluster = sharedClusterPointer(getContext());
    Value destination =
        LLVM::AddrSpaceCastOp::create(rewriter, op.getLoc(), cluster, adaptor.getDestination());
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
        op, destination, adaptor.getMap(), adaptor.getCoordinates(), adaptor.getBarrier(),
        adaptor.getOffsets(), adaptor.getMulticast(), adaptor.getPolicy(),
        op.getOffsets().empty() ? NVVM::TMALoadMode::TILE : NVVM::TMALoadMode::IM2COL,
        /*isCTAOnly=*/false, /*group=*/NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
    return success();
  }
};

struct LowerTmaStore : OpConversionPattern<TmaStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(TmaStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(
        op, adaptor.getMap(), adaptor.getSource(), adaptor.getCoordinates(), adaptor.getPolicy(),
        NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
    return success();
  }
};

struct LowerTmaPrefetch : OpConversionPattern<TmaPrefetchOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(TmaPrefetchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, rewriter.getStringAttr("llvm.nvvm.prefetch.tensormap"), adaptor.getMap());
    return success();
  }
};

struct LowerBulkCommit : OpConversionPattern<BulkCommitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BulkCommitOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkCommitGroupOp>(op);
    return success();
  }
};

struct LowerBulkWait : OpConversionPattern<BulkWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(BulkWaitOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkWaitGroupOp>(op, rewriter.getI32IntegerAttr(op.getPending()),
                                                              op.getReadAttr());
    return success();
  }
};

struct LowerCopyAsync : OpConversionPattern<CopyAsyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CopyAsyncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto bytes = int32_t(op.getBytes());
    // What threads copy they read once: not by way of L1, where that is possible.
    auto cache =
        bytes == tlc::cpAsyncBytesPastL1 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncOp>(op, adaptor.getDestination(), adaptor.getSource(), bytes,
                                                 cache, adaptor.getRead());
    return success();
  }
};

struct LowerCommitCopies : OpConversionPattern<CommitCopiesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CommitCopiesOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct LowerAwaitCopies : OpConversionPattern<AwaitCopiesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AwaitCopiesOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(
        op, rewriter.getI32IntegerAttr(int32_t(op.getPending())));
    return success();
  }
};

struct LowerProxyFence : OpConversionPattern<ProxyFenceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ProxyFenceOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getGlobal())
      rewriter.replaceOpWithNewOp<NVVM::FenceProxyOp>(op, NVVM::ProxyKind::async, NVVM::SharedSpaceAttr());
    else
      rewriter.replaceOpWithNewOp<NVVM::FenceProxyOp>(
          op, NVVM::ProxyKind::async_shared,
          NVVM::SharedSpaceAttr::get(getContext(), NVVM::SharedSpace::shared_cta));
    return success();
  }
};

} // namespace

void tlc::simt::populateAsyncPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerBarrierInit, LowerBarrierInitFence, LowerBarrierArrive, LowerBarrierArriveAfterCopies,
               LowerBarrierExpect, LowerBarrierWait, LowerBarrierTryWait, LowerTmaLoad, LowerTmaStore,
               LowerTmaPrefetch, LowerBulkCommit, LowerBulkWait, LowerCopyAsync, LowerCommitCopies,
               LowerAwaitCopies, LowerProxyFence>(converter, patterns.getContext());
}
