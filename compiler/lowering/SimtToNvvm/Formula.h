// SPDX-License-Identifier: Apache-2.0
/// \file
/// Formulas over numbers of f32, written as C++ expressions: each operator emits its operation. `fma` rounds
/// once; the other operators may be fused on the way to machine code, so that a formula must not rely on a
/// product being rounded before it is added.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <span>

namespace tlc::simt {

/// A value of one type, and where what is computed of it is emitted.
class Emitted {
public:
  Emitted(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value)
      : builder(&builder), loc(loc), value(value) {}
  mlir::Value get() const { return value; }

protected:
  template <class Op, class... Args> mlir::Value make(Args &&...args) const {
    return Op::create(*builder, loc, std::forward<Args>(args)...);
  }
  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

class Bits;
class Number;

class Truth : public Emitted {
public:
  using Emitted::Emitted;
  Truth operator&&(const Truth &other) const;
  Truth operator||(const Truth &other) const;
  Truth operator!() const;
  /// x where it holds, else y.
  Number choose(const Number &x, const Number &y) const;
  Number choose(const Number &x, double y) const;
  Number choose(double x, const Number &y) const;
};

/// A number of f32. Comparisons with NaN are false, but that by `!=` is true.
class Number : public Emitted {
public:
  using Emitted::Emitted;
  Number constant(double number) const;
  /// The result of one of the machine's instructions, by the name of its intrinsic.
  Number instruction(mlir::StringRef intrinsic) const;
  Number instruction(mlir::StringRef intrinsic, const Number &other) const;

  Number operator+(const Number &other) const;
  Number operator-(const Number &other) const;
  Number operator*(const Number &other) const;
  Number operator-() const;
  Number operator+(double other) const { return *this + constant(other); }
  Number operator-(double other) const { return *this - constant(other); }
  Number operator*(double other) const { return *this * constant(other); }

  Truth operator<(const Number &other) const;
  Truth operator>(const Number &other) const;
  Truth operator==(const Number &other) const;
  Truth operator!=(const Number &other) const;
  Truth operator<(double other) const { return *this < constant(other); }
  Truth operator>(double other) const { return *this > constant(other); }
  Truth operator==(double other) const { return *this == constant(other); }

  Number magnitude() const;
  Number withSignOf(const Number &other) const;
  Number nearestInteger() const; ///< ties to even
  Number cut() const;            ///< rounded towards 0
  Number inverse() const;        ///< within one unit
  /// The nearest of both where it is outside of them; NaN stays.
  Number clamped(double low, double high) const;
  Bits toInteger() const; ///< of a whole number of 32 bits
  Bits bits() const;
};

/// a b + c, rounded once.
Number fma(const Number &a, const Number &b, const Number &c);
Number fma(const Number &a, const Number &b, double c);
Number fma(const Number &a, double b, const Number &c);
/// first + x (second + x (third + ...)).
Number polynomial(const Number &x, std::span<const float> coefficients);
/// a / b within two units.
Number operator/(const Number &a, const Number &b);
inline Number operator-(double a, const Number &b) { return b.constant(a) - b; }
inline Number operator/(double a, const Number &b) { return b.constant(a) / b; }

/// An integer of 32 bits, or a number's bits.
class Bits : public Emitted {
public:
  using Emitted::Emitted;
  Bits operator+(const Bits &other) const;
  Bits operator-(const Bits &other) const;
  Bits operator+(int32_t other) const { return *this + constant(other); }
  Bits operator-(int32_t other) const { return *this - constant(other); }
  Bits operator&(int32_t other) const;
  Bits operator<<(int32_t count) const;
  Bits operator>>(int32_t count) const; ///< repeats the sign
  Truth isZero() const;
  Bits constant(int32_t number) const;
  Number toNumber() const; ///< the nearest number
  Number asNumber() const; ///< that with these bits
};

} // namespace tlc::simt
