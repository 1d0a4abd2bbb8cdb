// SPDX-License-Identifier: Apache-2.0
/// \file
/// Floating-point functions and conversions. There is no mathematical library on the device: what the machine
/// has an instruction for is that instruction, the rest is a polynomial or a formula over those.
#include "mlir/Dialect/Math/IR/Math.h"

#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"

#include <numbers>

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

static bool isNarrowFloat(Type type) { return type.isF16() || type.isBF16(); }

Value tlc::simt::widen(OpBuilder &builder, Location loc, Value value) {
  return isNarrowFloat(value.getType()) ? LLVM::FPExtOp::create(builder, loc, builder.getF32Type(), value)
                                        : value;
}

Value tlc::simt::narrowTo(OpBuilder &builder, Location loc, Type type, Value value) {
  return isNarrowFloat(type) ? LLVM::FPTruncOp::create(builder, loc, type, value) : value;
}

bool tlc::simt::allowsApproximation(arith::FastMathFlags flags) {
  return bitEnumContainsAll(flags, arith::FastMathFlags::afn);
}

namespace {

Value callF32(OpBuilder &builder, Location loc, StringRef intrinsic, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(), builder.getStringAttr(intrinsic),
                                       operands)
      .getResults();
}

Value scale(OpBuilder &builder, Location loc, Value value, double factor) {
  if (factor == 1.0)
    return value;
  Value constant = LLVM::ConstantOp::create(builder, loc, value.getType(), builder.getF32FloatAttr(factor));
  return LLVM::FMulOp::create(builder, loc, value, constant);
}

/// after * intrinsic(before * x).
struct FunctionParts {
  StringRef intrinsic;
  double before = 1.0, after = 1.0;
};

template <typename MathOp> FunctionParts partsOf();
template <> FunctionParts partsOf<math::Exp2Op>() { return {"llvm.nvvm.ex2.approx.ftz.f32"}; }
template <> FunctionParts partsOf<math::ExpOp>() {
  return {"llvm.nvvm.ex2.approx.ftz.f32", std::numbers::log2e};
}
template <> FunctionParts partsOf<math::Log2Op>() { return {"llvm.nvvm.lg2.approx.ftz.f"}; }
template <> FunctionParts partsOf<math::LogOp>() {
  return {"llvm.nvvm.lg2.approx.ftz.f", 1.0, std::numbers::ln2};
}
template <> FunctionParts partsOf<math::Log10Op>() {
  return {"llvm.nvvm.lg2.approx.ftz.f", 1.0, std::numbers::ln2 / std::numbers::ln10};
}
template <> FunctionParts partsOf<math::RsqrtOp>() { return {"llvm.nvvm.rsqrt.approx.ftz.f"}; }

template <typename MathOp> struct LowerFunction : OpConversionPattern<MathOp> {
  using OpConversionPattern<MathOp>::OpConversionPattern;
  LogicalResult matchAndRewrite(MathOp op, typename MathOp::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FunctionParts parts = partsOf<MathOp>();
    Value value = scale(rewriter, loc, widen(rewriter, loc, adaptor.getOperand()), parts.before);
    value = scale(rewriter, loc, callF32(rewriter, loc, parts.intrinsic, value), parts.after);
    rewriter.replaceOp(op, narrowTo(rewriter, loc, op.getType(), value));
    return success();
  }
};

/// The instruction of a function that has an accurate form, too.
template <class MathOp> struct LowerFast : OpConversionPattern<MathOp> {
  using OpConversionPattern<MathOp>::OpConversionPattern;
  LogicalResult matchAndRewrite(MathOp op, typename MathOp::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!allowsApproximation(op.getFastmath()))
      return failure();
    Location loc = op.getLoc();
    Value x = widen(rewriter, loc, adaptor.getOperand()), y;
    if constexpr (std::is_same_v<MathOp, math::TanhOp>)
      y = LLVM::TanhOp::create(rewriter, loc, x,
                               LLVM::FastmathFlags::afn); // its instruction has no intrinsic
    else
      y = callF32(rewriter, loc,
                  std::is_same_v<MathOp, math::SinOp> ? "llvm.nvvm.sin.approx.ftz.f"
                                                      : "llvm.nvvm.cos.approx.ftz.f",
                  x);
    rewriter.replaceOp(op, narrowTo(rewriter, loc, op.getType(), y));
    return success();
  }
};

struct LowerSqrt : OpConversionPattern<math::SqrtOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(math::SqrtOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getType().isF64())
      return failure(); // the correctly rounded instruction, through llvm.sqrt
    Location loc = op.getLoc();
    StringRef intrinsic =
        allowsApproximation(op.getFastmath()) ? "llvm.nvvm.sqrt.approx.ftz.f" : "llvm.nvvm.sqrt.rn.f";
    Value root = callF32(rewriter, loc, intrinsic, widen(rewriter, loc, adaptor.getOperand()));
    rewriter.replaceOp(op, narrowTo(rewriter, loc, op.getType(), root));
    return success();
  }
};

/// Division in f32 is the one within 2 ulp: the correctly rounded one is a subroutine, which next to matrix
/// instructions in flight costs far more than itself.
struct LowerDivision : OpConversionPattern<arith::DivFOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getType().isF64())
      return failure();
    Location loc = op.getLoc();
    Value quotient =
        callF32(rewriter, loc, "llvm.nvvm.div.full",
                {widen(rewriter, loc, adaptor.getLhs()), widen(rewriter, loc, adaptor.getRhs())});
    rewriter.replaceOp(op, narrowTo(rewriter, loc, op.getType(), quotient));
    return success();
  }
};

/// Functions that the machine has an instruction for; the others become formulas over them.
bool isInstruction(StringRef name) {
  return name == math::Exp2Op::getOperationName() || name == math::ExpOp::getOperationName() ||
         name == math::Log2Op::getOperationName() || name == math::LogOp::getOperationName() ||
         name == math::Log10Op::getOperationName() || name == math::RsqrtOp::getOperationName();
}

} // namespace

LogicalResult tlc::simt::verifyMath(Operation *op) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 32 ||
      isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp, math::RoundOp,
          math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op))
    return success();
  return op->emitError() << "expected elements of f32, f16 or bf16 because no target has this function for "
                         << element << ": convert before and after";
}

void tlc::simt::populateMathPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  // Over those of the polynomials and of LLVM's generic functions.
  PatternBenefit preferred = 2, ours = 3, fast = 4;
  patterns.add<LowerFunction<math::Exp2Op>, LowerFunction<math::ExpOp>, LowerFunction<math::Log2Op>,
               LowerFunction<math::LogOp>, LowerFunction<math::Log10Op>, LowerFunction<math::RsqrtOp>,
               LowerSqrt, LowerDivision>(converter, context, preferred);
  populateFunctionPatterns(converter, patterns, ours);
  patterns.add<LowerFast<math::SinOp>, LowerFast<math::CosOp>, LowerFast<math::TanhOp>>(converter, context,
                                                                                        fast);
  auto isFormula = [](StringRef name) { return !isInstruction(name); };
  populateMathF32ExpansionPatterns(patterns, isFormula, preferred);
  populateMathPolynomialApproximationPatterns(patterns, isFormula, preferred);
  math::populateExpansionPatterns(patterns, {"sinh", "cosh", "asinh", "acosh", "atanh", "fpowi"});
}
