// SPDX-License-Identifier: Apache-2.0
/// \file
/// Descriptors of shared tiles, products of one warp, moves of 8x8 matrices. The products of a warpgroup are
/// in Wgmma.cpp.
#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "dialects/program/Elements.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

namespace {

/// The fields of PTX ISA "Matrix Descriptor Format" that do not depend on the address.
uint64_t descriptorConstant(MatrixDescriptorOp op) {
  auto mode = [&]() -> uint64_t {
    switch (op.getSwizzle()) {
    case program::Swizzle::none:
      return 0;
    case program::Swizzle::bytes128:
      return 1;
    case program::Swizzle::bytes64:
      return 2;
    case program::Swizzle::bytes32:
      return 3;
    }
    llvm_unreachable("all swizzles are handled");
  };
  return descriptorDistances(op.getLeading(), op.getStride()) | mode() << 62;
}

struct LowerMatrixDescriptor : OpConversionPattern<MatrixDescriptorOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MatrixDescriptorOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op,
                       matrixDescriptor(rewriter, op.getLoc(), adaptor.getAddress(), descriptorConstant(op)));
    return success();
  }
};

struct LowerMmaSync : OpConversionPattern<MmaSyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MmaSyncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    bool isHalf = op.getAElement().isF16();
    // The intrinsics disagree: pairs of f16 are vectors, pairs of bf16 are words.
    auto pairs = [&](Value words) {
      SmallVector<Value> registers = unpack(rewriter, loc, words);
      if (isHalf)
        for (Value &word : registers)
          word = LLVM::BitcastOp::create(rewriter, loc, VectorType::get(2, rewriter.getF16Type()), word);
      return registers;
    };
    SmallVector<Value> operands = pairs(adaptor.getA());
    llvm::append_range(operands, pairs(adaptor.getB()));
    llvm::append_range(operands, unpack(rewriter, loc, adaptor.getAcc()));
    Type sum = getElementTypeOrSelf(op.getAcc().getType());
    Value product = LLVM::CallIntrinsicOp::create(
                        rewriter, loc, LLVM::LLVMStructType::getLiteral(getContext(), {sum, sum, sum, sum}),
                        rewriter.getStringAttr("llvm.nvvm.mma." + shapeAndTypes(op)), operands)
                        .getResults();
    SmallVector<Value> elements;
    for (int64_t i = 0; i != 4; ++i)
      elements.push_back(LLVM::ExtractValueOp::create(rewriter, loc, product, i));
    rewriter.replaceOp(op, pack(rewriter, loc, op.getResult().getType(), elements));
    return success();
  }

private:
  /// As intrinsics have it: of f16 the sums' types, of others those of the factors, once if they are one, but
  /// of floats of 8 bits all.
  static std::string shapeAndTypes(MmaSyncOp op) {
    Type a = op.getAElement(), b = op.getBElement();
    if (a.isF16())
      return "m16n8k16.row.col.f32.f32";
    unsigned bits = a.getIntOrFloatBitWidth();
    std::string shape = "m16n8k" + std::to_string(matrixDepthBytes * 8 / bits) + ".row.col";
    if (isa<FloatType>(a) && bits == 8)
      return shape + (".f32." + factorName(a) + "." + factorName(b) + ".f32").str();
    return shape + "." + (a == b ? factorName(a).str() : (factorName(a) + "." + factorName(b)).str());
  }
};

struct LowerPermuteBytes : OpConversionPattern<PermuteBytesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PermuteBytesOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, rewriter.getI32Type(), rewriter.getStringAttr("llvm.nvvm.prmt"),
        ValueRange{adaptor.getLow(), adaptor.getHigh(), adaptor.getSelector()});
    return success();
  }
};

NVVM::LdStMatrixShapeAttr matrixShape(MLIRContext *context) {
  return NVVM::LdStMatrixShapeAttr::get(context, 8, 8);
}

NVVM::MMALayout layoutOf(bool transpose) { return transpose ? NVVM::MMALayout::col : NVVM::MMALayout::row; }

struct LowerLdMatrix : OpConversionPattern<LdMatrixOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LdMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    int64_t count = type.getNumElements();
    Type i32 = rewriter.getI32Type();
    Type resultType =
        count == 1 ? i32
                   : Type(LLVM::LLVMStructType::getLiteral(getContext(), SmallVector<Type>(count, i32)));
    Value loaded = NVVM::LdMatrixOp::create(rewriter, loc, resultType, adaptor.getAddress(), count,
                                            layoutOf(op.getTranspose()), matrixShape(getContext()),
                                            NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> words;
    if (count == 1)
      words.push_back(loaded);
    else
      for (int64_t i = 0; i != count; ++i)
        words.push_back(LLVM::ExtractValueOp::create(rewriter, loc, loaded, i));
    rewriter.replaceOp(op, pack(rewriter, loc, type, words));
    return success();
  }
};

struct LowerStMatrix : OpConversionPattern<StMatrixOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    NVVM::StMatrixOp::create(rewriter, op.getLoc(), adaptor.getAddress(),
                             unpack(rewriter, op.getLoc(), adaptor.getValues()), layoutOf(op.getTranspose()),
                             matrixShape(getContext()), NVVM::LdStMatrixEltType::B16);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

StringRef tlc::simt::factorName(Type element) {
  return element.isSignlessInteger(8) ? "s8" : element.isF32() ? "tf32" : toString(*toElementType(element));
}

uint64_t tlc::simt::descriptorDistances(uint64_t leading, uint64_t stride) {
  auto units = [](uint64_t bytes) { return bytes >> 4 & 0x3fff; };
  return units(leading) << 16 | units(stride) << 32;
}

Value tlc::simt::matrixDescriptor(OpBuilder &builder, Location loc, Value address, uint64_t fields) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Value number = LLVM::PtrToIntOp::create(builder, loc, i32, address);
  Value units = LLVM::LShrOp::create(builder, loc, number, constantI32(builder, loc, 4));
  Value start = LLVM::AndOp::create(builder, loc, units, constantI32(builder, loc, 0x3fff));
  Value wide = LLVM::ZExtOp::create(builder, loc, i64, start);
  Value others = LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(int64_t(fields)));
  return LLVM::OrOp::create(builder, loc, wide, others, /*isDisjoint=*/true);
}

void tlc::simt::populateMatrixPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerMatrixDescriptor, LowerMmaSync, LowerPermuteBytes, LowerLdMatrix, LowerStMatrix>(
      converter, patterns.getContext());
}
