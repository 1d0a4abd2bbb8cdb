// SPDX-License-Identifier: Apache-2.0
/// \file
/// tcgen05: tensor memory, its way to and from registers, products.
#include "compiler/lowering/SimtToNvvm/Patterns.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

namespace {

/// One block by itself issues products; pairs of blocks do not occur.
NVVM::CTAGroupKindAttr oneBlock(MLIRContext *context) {
  return NVVM::CTAGroupKindAttr::get(context, NVVM::CTAGroupKind::CTA_1);
}

Value tensorPointer(OpBuilder &builder, Location loc, Value address) {
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), unsigned(NVVM::NVVMMemorySpace::Tensor));
  return LLVM::IntToPtrOp::create(builder, loc, type, address);
}

NVVM::Tcgen05LdStShapeAttr shapeOf(MLIRContext *context, uint64_t rowBits) {
  using Shape = NVVM::Tcgen05LdStShape;
  return NVVM::Tcgen05LdStShapeAttr::get(context, rowBits == 32    ? Shape::SHAPE_32X32B
                                                  : rowBits == 128 ? Shape::SHAPE_16X128B
                                                                   : Shape::SHAPE_16X256B);
}

struct LowerAlloc : OpConversionPattern<Tcgen05AllocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05AllocOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value columns = constantI32(rewriter, op.getLoc(), int32_t(op.getColumns()));
    NVVM::Tcgen05AllocOp::create(rewriter, op.getLoc(), adaptor.getDestination(), columns,
                                 oneBlock(getContext()));
    NVVM::Tcgen05RelinquishAllocPermitOp::create(rewriter, op.getLoc(), oneBlock(getContext()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerDealloc : OpConversionPattern<Tcgen05DeallocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05DeallocOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value columns = constantI32(rewriter, op.getLoc(), int32_t(op.getColumns()));
    NVVM::Tcgen05DeallocOp::create(rewriter, op.getLoc(),
                                   tensorPointer(rewriter, op.getLoc(), adaptor.getAddress()), columns,
                                   oneBlock(getContext()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerFence : OpConversionPattern<Tcgen05FenceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05FenceOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto kind = op.getAfter() ? NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC
                              : NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC;
    NVVM::Tcgen05FenceOp::create(rewriter, op.getLoc(), NVVM::Tcgen05FenceKindAttr::get(getContext(), kind));
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerLoad : OpConversionPattern<Tcgen05LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    bool isOne = type.getNumElements() == 1;
    Value loaded =
        NVVM::Tcgen05LdOp::create(rewriter, loc, isOne ? rewriter.getI32Type() : Type(type),
                                  /*pack=*/UnitAttr(), shapeOf(getContext(), op.getRowBits()),
                                  tensorPointer(rewriter, loc, adaptor.getAddress()), /*offset=*/Value());
    rewriter.replaceOp(op, isOne ? pack(rewriter, loc, type, loaded) : loaded);
    return success();
  }
};

struct LowerStore : OpConversionPattern<Tcgen05StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value values = adaptor.getValues();
    if (cast<VectorType>(values.getType()).getNumElements() == 1)
      values = unpack(rewriter, loc, values).front();
    NVVM::Tcgen05StOp::create(rewriter, loc, /*unpack=*/UnitAttr(), shapeOf(getContext(), op.getRowBits()),
                              tensorPointer(rewriter, loc, adaptor.getAddress()), values,
                              /*offset=*/Value());
    rewriter.eraseOp(op);
    return success();
  }
};

/// The values pass through the statement: LLVM would else read them, or join them to pairs, before it.
struct LowerWaitLoad : OpConversionPattern<Tcgen05WaitLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05WaitLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> words = unpack(rewriter, loc, adaptor.getValues());
    std::string outputs, inputs;
    for (size_t i = 0; i < words.size(); ++i) {
      outputs += "=r,";
      inputs += std::to_string(i) + ",";
    }
    SmallVector<Type> types(words.size(), rewriter.getI32Type());
    SmallVector<Value> complete = inlineAssembly(rewriter, loc, "tcgen05.wait::ld.sync.aligned;",
                                                 outputs + inputs + "~{memory}", types, words);
    rewriter.replaceOp(op, pack(rewriter, loc, op.getResult().getType(), complete));
    return success();
  }
};

struct LowerWaitStore : OpConversionPattern<Tcgen05WaitStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05WaitStoreOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    NVVM::Tcgen05WaitOp::create(rewriter, op.getLoc(),
                                NVVM::Tcgen05WaitKindAttr::get(getContext(), NVVM::Tcgen05WaitKind::STORE));
    rewriter.eraseOp(op);
    return success();
  }
};

/// The fields of PTX ISA "tcgen05 matrix descriptor" that do not depend on the address.
uint64_t descriptorConstant(Tcgen05DescriptorOp op) {
  auto mode = [&]() -> uint64_t {
    switch (op.getSwizzle()) {
    case program::Swizzle::none:
      return 0;
    case program::Swizzle::bytes128:
      return 2;
    case program::Swizzle::bytes64:
      return 4;
    case program::Swizzle::bytes32:
      return 6;
    }
    llvm_unreachable("all swizzles are handled");
  };
  constexpr uint64_t version = 1;
  return descriptorDistances(op.getLeading(), op.getStride()) | version << 46 | mode() << 61;
}

struct LowerDescriptor : OpConversionPattern<Tcgen05DescriptorOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05DescriptorOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op,
                       matrixDescriptor(rewriter, op.getLoc(), adaptor.getAddress(), descriptorConstant(op)));
    return success();
  }
};

/// Of the kind: f16, bf16 (1); tf32 (2); e4m3, e5m2 (1); u8, s8 (1).
uint32_t codeOf(Type factor) {
  if (factor.isF32())
    return 2;
  return factor.isBF16() || isa<Float8E5M2Type>(factor) || factor.isSignlessInteger(8);
}

/// PTX ISA "instruction descriptor" of the kinds f16, tf32, f8f6f4 and i8, with sums in f32 or s32.
uint32_t instructionDescriptor(Tcgen05MmaOp op) {
  const uint32_t sums = op.getAElement().isInteger() ? 2 : 1;
  return sums << 4 | codeOf(op.getAElement()) << 7 | codeOf(op.getBElement()) << 10 |
         uint32_t(op.getTransposeA()) << 15 | uint32_t(op.getTransposeB()) << 16 |
         uint32_t(op.getN() >> 3) << 17 | uint32_t(op.getM() >> 4) << 24;
}

struct LowerMma : OpConversionPattern<Tcgen05MmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05MmaOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    unsigned bits = op.getAElement().getIntOrFloatBitWidth();
    auto kind = op.getAElement().isInteger() ? NVVM::Tcgen05MMAKind::I8
                : bits == 32                 ? NVVM::Tcgen05MMAKind::TF32
                : bits == 16                 ? NVVM::Tcgen05MMAKind::F16
                                             : NVVM::Tcgen05MMAKind::F8F6F4;
    Value left = adaptor.getA();
    if (left.getType().isInteger(32))
      left = tensorPointer(rewriter, loc, left);
    NVVM::Tcgen05MMAOp::create(
        rewriter, loc, NVVM::Tcgen05MMAKindAttr::get(getContext(), kind), oneBlock(getContext()),
        NVVM::Tcgen05MMACollectorOpAttr::get(getContext(), NVVM::Tcgen05MMACollectorOp::DISCARD),
        /*aShift=*/UnitAttr(), tensorPointer(rewriter, loc, adaptor.getAcc()), left, adaptor.getB(),
        constantI32(rewriter, loc, int32_t(instructionDescriptor(op))), adaptor.getAccumulate(),
        /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerCommit : OpConversionPattern<Tcgen05CommitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(Tcgen05CommitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    NVVM::Tcgen05CommitOp::create(rewriter, op.getLoc(), adaptor.getBarrier(), /*multicastMask=*/Value(),
                                  oneBlock(getContext()));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void tlc::simt::populateTensorMemoryPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerAlloc, LowerDealloc, LowerFence, LowerLoad, LowerStore, LowerWaitLoad, LowerWaitStore,
               LowerDescriptor, LowerMma, LowerCommit>(converter, patterns.getContext());
}
