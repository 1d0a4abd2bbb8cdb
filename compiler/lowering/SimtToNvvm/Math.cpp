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

namespace {

/// An f32 function of one number.
using Function = llvm::function_ref<Value(OpBuilder &, Location, Value)>;

bool isNarrowFloat(Type element) { return element.isF16() || element.isBF16(); }

/// Applies an f32 function to every element; 16-bit ones are computed in f32.
void replaceElementwise(Operation *op, Value operand, ConversionPatternRewriter &rewriter,
                        Function function) {
  Location loc = op->getLoc();
  Type type = operand.getType(), element = getElementTypeOrSelf(type), f32 = rewriter.getF32Type();
  SmallVector<Value> values = unpack(rewriter, loc, operand);
  for (Value &value : values) {
    if (isNarrowFloat(element))
      value = LLVM::FPExtOp::create(rewriter, loc, f32, value);
    value = function(rewriter, loc, value);
    if (isNarrowFloat(element))
      value = LLVM::FPTruncOp::create(rewriter, loc, element, value);
  }
  rewriter.replaceOp(op, pack(rewriter, loc, type, values));
}

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
    FunctionParts parts = partsOf<MathOp>();
    replaceElementwise(
        op, adaptor.getOperand(), rewriter, [&](OpBuilder &builder, Location loc, Value value) {
          Value result = callF32(builder, loc, parts.intrinsic, scale(builder, loc, value, parts.before));
          return scale(builder, loc, result, parts.after);
        });
    return success();
  }
};

bool allowsApproximation(arith::FastMathFlags flags) {
  return bitEnumContainsAll(flags, arith::FastMathFlags::afn);
}

struct LowerSqrt : OpConversionPattern<math::SqrtOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(math::SqrtOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (getElementTypeOrSelf(op.getType()).isF64())
      return failure(); // the correctly rounded instruction, through llvm.sqrt
    StringRef intrinsic =
        allowsApproximation(op.getFastmath()) ? "llvm.nvvm.sqrt.approx.ftz.f" : "llvm.nvvm.sqrt.rn.f";
    replaceElementwise(op, adaptor.getOperand(), rewriter,
                       [&](OpBuilder &builder, Location loc, Value value) {
                         return callF32(builder, loc, intrinsic, value);
                       });
    return success();
  }
};

/// Division in f32 is the one within 2 ulp: the correctly rounded one is a subroutine, which next to matrix
/// instructions in flight costs far more than itself.
struct LowerDivision : OpConversionPattern<arith::DivFOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (element.isF64())
      return failure();
    Location loc = op.getLoc();
    StringRef intrinsic =
        allowsApproximation(op.getFastmath()) ? "llvm.nvvm.div.approx.ftz.f" : "llvm.nvvm.div.full";
    SmallVector<Value> divisors = unpack(rewriter, loc, adaptor.getRhs());
    auto divisor = divisors.begin();
    replaceElementwise(op, adaptor.getLhs(), rewriter, [&](OpBuilder &builder, Location loc, Value value) {
      Value by = *divisor++;
      if (isNarrowFloat(element))
        by = LLVM::FPExtOp::create(builder, loc, value.getType(), by);
      return callF32(builder, loc, intrinsic, {value, by});
    });
    return success();
  }
};

/// Two numbers become one register in one instruction.
struct LowerNarrowing : OpConversionPattern<arith::TruncFOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || !isNarrowFloat(type.getElementType()) || type.getNumElements() % 2 != 0 ||
        !getElementTypeOrSelf(op.getIn().getType()).isF32())
      return failure();
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type(), pair = VectorType::get(2, type.getElementType());
    StringAttr intrinsic = rewriter.getStringAttr(type.getElementType().isF16() ? "llvm.nvvm.ff2f16x2.rn"
                                                                                : "llvm.nvvm.ff2bf16x2.rn");
    SmallVector<Value> values = unpack(rewriter, loc, adaptor.getIn()), words;
    for (size_t i = 0; i != values.size(); i += 2) {
      // The instruction's first operand is the upper half.
      Value packed =
          LLVM::CallIntrinsicOp::create(rewriter, loc, pair, intrinsic, ValueRange{values[i + 1], values[i]})
              .getResults();
      words.push_back(LLVM::BitcastOp::create(rewriter, loc, i32, packed));
    }
    rewriter.replaceOp(op, fromWords(rewriter, loc, type, words));
    return success();
  }
};

/// Functions that the machine has an instruction for; the others become formulas over them.
bool isInstruction(StringRef name) {
  return name == math::Exp2Op::getOperationName() || name == math::ExpOp::getOperationName() ||
         name == math::Log2Op::getOperationName() || name == math::LogOp::getOperationName() ||
         name == math::RsqrtOp::getOperationName();
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
  PatternBenefit preferred = 2; // over those of the polynomials and of LLVM's generic functions
  patterns.add<LowerFunction<math::Exp2Op>, LowerFunction<math::ExpOp>, LowerFunction<math::Log2Op>,
               LowerFunction<math::LogOp>, LowerFunction<math::Log10Op>, LowerFunction<math::RsqrtOp>,
               LowerSqrt, LowerDivision, LowerNarrowing>(converter, context, preferred);
  auto isFormula = [](StringRef name) { return !isInstruction(name); };
  populateMathF32ExpansionPatterns(patterns, isFormula, preferred);
  populateMathPolynomialApproximationPatterns(patterns, isFormula, preferred);
  math::populateExpansionPatterns(patterns,
                                  {"sinh", "cosh", "tan", "asinh", "acosh", "atanh", "powf", "fpowi"});
}
