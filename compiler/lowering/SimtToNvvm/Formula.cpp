// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operations of formulas.
#include "compiler/lowering/SimtToNvvm/Formula.h"

using namespace mlir;
using namespace tlc::simt;

//===----------------------------------------------------------------------===//
// Truth values
//===----------------------------------------------------------------------===//

Truth Truth::operator&&(const Truth &other) const {
  return {*builder, loc, make<LLVM::AndOp>(value, other.value)};
}
Truth Truth::operator||(const Truth &other) const {
  return {*builder, loc, make<LLVM::OrOp>(value, other.value)};
}
Truth Truth::operator!() const {
  Value yes = make<LLVM::ConstantOp>(builder->getI1Type(), builder->getBoolAttr(true));
  return {*builder, loc, make<LLVM::XOrOp>(value, yes)};
}
Number Truth::choose(const Number &x, const Number &y) const {
  return {*builder, loc, make<LLVM::SelectOp>(value, x.get(), y.get())};
}
Number Truth::choose(const Number &x, double y) const { return choose(x, x.constant(y)); }
Number Truth::choose(double x, const Number &y) const { return choose(y.constant(x), y); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Number Number::constant(double number) const {
  return {*builder, loc,
          make<LLVM::ConstantOp>(builder->getF32Type(), builder->getF32FloatAttr(float(number)))};
}

namespace {
Value call(OpBuilder &builder, Location loc, StringRef intrinsic, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(), builder.getStringAttr(intrinsic),
                                       operands)
      .getResults();
}
} // namespace

Number Number::instruction(StringRef intrinsic) const {
  return {*builder, loc, call(*builder, loc, intrinsic, value)};
}
Number Number::instruction(StringRef intrinsic, const Number &other) const {
  return {*builder, loc, call(*builder, loc, intrinsic, {value, other.value})};
}

Number Number::operator+(const Number &other) const {
  return {*builder, loc, make<LLVM::FAddOp>(value, other.value)};
}
Number Number::operator-(const Number &other) const {
  return {*builder, loc, make<LLVM::FSubOp>(value, other.value)};
}
Number Number::operator*(const Number &other) const {
  return {*builder, loc, make<LLVM::FMulOp>(value, other.value)};
}
Number Number::operator-() const { return {*builder, loc, make<LLVM::FNegOp>(value)}; }

Truth Number::operator<(const Number &other) const {
  return {*builder, loc, make<LLVM::FCmpOp>(LLVM::FCmpPredicate::olt, value, other.value)};
}
Truth Number::operator>(const Number &other) const { return other < *this; }
Truth Number::operator==(const Number &other) const {
  return {*builder, loc, make<LLVM::FCmpOp>(LLVM::FCmpPredicate::oeq, value, other.value)};
}
Truth Number::operator!=(const Number &other) const {
  return {*builder, loc, make<LLVM::FCmpOp>(LLVM::FCmpPredicate::une, value, other.value)};
}

Number Number::magnitude() const { return {*builder, loc, make<LLVM::FAbsOp>(value)}; }
Number Number::withSignOf(const Number &other) const {
  return {*builder, loc, make<LLVM::CopySignOp>(value, other.value)};
}
Number Number::nearestInteger() const { return {*builder, loc, make<LLVM::RoundEvenOp>(value)}; }
Number Number::cut() const { return {*builder, loc, make<LLVM::FTruncOp>(value)}; }
Number Number::inverse() const { return instruction("llvm.nvvm.rcp.approx.ftz.f"); }
Number Number::clamped(double low, double high) const {
  Number below = (*this > high).choose(high, *this);
  return (below < low).choose(low, below);
}
Bits Number::toInteger() const { return {*builder, loc, make<LLVM::FPToSIOp>(builder->getI32Type(), value)}; }
Bits Number::bits() const { return {*builder, loc, make<LLVM::BitcastOp>(builder->getI32Type(), value)}; }

namespace tlc::simt {

Number fma(const Number &a, const Number &b, const Number &c) {
  struct Maker : Number {
    explicit Maker(const Number &x) : Number(x) {}
    Number of(Value b, Value c) { return {*builder, loc, make<LLVM::FMAOp>(value, b, c)}; }
  };
  return Maker(a).of(b.get(), c.get());
}
Number fma(const Number &a, const Number &b, double c) { return fma(a, b, a.constant(c)); }
Number fma(const Number &a, double b, const Number &c) { return fma(a, a.constant(b), c); }

Number polynomial(const Number &x, std::span<const float> coefficients) {
  Number sum = x.constant(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    sum = fma(sum, x, coefficients[i]);
  return sum;
}

Number operator/(const Number &a, const Number &b) { return a.instruction("llvm.nvvm.div.full", b); }

} // namespace tlc::simt

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Bits Bits::constant(int32_t number) const {
  return {*builder, loc, make<LLVM::ConstantOp>(builder->getI32Type(), builder->getI32IntegerAttr(number))};
}
Bits Bits::operator+(const Bits &other) const {
  return {*builder, loc, make<LLVM::AddOp>(value, other.value)};
}
Bits Bits::operator-(const Bits &other) const {
  return {*builder, loc, make<LLVM::SubOp>(value, other.value)};
}
Bits Bits::operator&(int32_t other) const {
  return {*builder, loc, make<LLVM::AndOp>(value, constant(other).value)};
}
Bits Bits::operator<<(int32_t count) const {
  return {*builder, loc, make<LLVM::ShlOp>(value, constant(count).value)};
}
Bits Bits::operator>>(int32_t count) const {
  return {*builder, loc, make<LLVM::AShrOp>(value, constant(count).value)};
}
Truth Bits::isZero() const {
  return {*builder, loc, make<LLVM::ICmpOp>(LLVM::ICmpPredicate::eq, value, constant(0).value)};
}
Number Bits::toNumber() const { return {*builder, loc, make<LLVM::SIToFPOp>(builder->getF32Type(), value)}; }
Number Bits::asNumber() const { return {*builder, loc, make<LLVM::BitcastOp>(builder->getF32Type(), value)}; }
