// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic on elements: the nearest number of a type, and how far the
/// compiled program's may lie from it.
///
/// An operation on exact operands that is rounded to nearest has one result.
/// Everything else is an interval: of the operands' bounds, of what the operation
/// may be off, and of what fusing a product with a sum leaves out. Both ends are
/// rounded as the number itself is.
#pragma once

#include "compiler/evaluator/Evaluator.h"
#include "dialects/tile/Tile.h"
#include "mlir/IR/Types.h"

#include <limits>
#include <optional>

namespace tlc::evaluator {

/// Which numbers a type has.
struct Kind {
  bool isFloat = false;
  unsigned bits = 0; ///< an `index` has 32
  bool isUnsigned = false;
  int precision = 0;      ///< bits of a float's significand, the first one included
  int leastExponent = 0;  ///< of its normal numbers
  double largest = 0;     ///< finite one
  bool saturates = false; ///< what is larger becomes the largest
  bool hasNaN = true;     ///< where not, NaN becomes the largest, too
  bool operator==(const Kind &) const = default;
};

Kind kindOf(ElementType type);
/// Of a type or of the elements of a fragment.
Kind kindOf(mlir::Type type);

using tile::Rounding;
double rounded(const Kind &kind, double value, Rounding rounding);
double nearest(const Kind &kind, double value);
/// The last bits that an integer of this kind keeps, sign-extended; truth values are 0 and 1.
int64_t wrapped(const Kind &kind, int64_t value);

Element exactFloat(const Kind &kind, double value);
Element exactInteger(const Kind &kind, int64_t value);
Element truthOf(bool value, bool isCertain = true);
/// A number of which the language says nothing; `value` is one that it may be.
Element unspecified(const Element &value);
inline bool isExact(const Element &x) { return x.bound == 0; }
inline bool isUnspecified(const Element &x) { return x.bound > std::numeric_limits<double>::max(); }
bool isFinite(const Element &x);
/// What `value` is rounded to, where the compiled program rounds some number from `low` to `high`.
Element enclosed(const Kind &kind, double value, double low, double high,
                 Rounding rounding = Rounding::nearest);
/// What leaves an operand as it is may be left out, and a product that it was may then be fused with a sum.
Element mayBe(Element result, const Element &operand);
/// The same number, NaN for NaN, whatever the bounds.
bool isSame(const Kind &kind, const Element &a, const Element &b);

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

Element add(const Kind &kind, const Element &a, const Element &b);
Element multiply(const Kind &kind, const Element &a, const Element &b);
Element divide(const Kind &kind, const Element &a, const Element &b);
/// A number is preferred to NaN.
Element maximum(const Kind &kind, const Element &a, const Element &b);
Element minimum(const Kind &kind, const Element &a, const Element &b);
/// NaN is preferred to a number.
Element maximumOrNaN(const Kind &kind, const Element &a, const Element &b);
Element minimumOrNaN(const Kind &kind, const Element &a, const Element &b);
Element negate(const Element &x);
Element absolute(const Element &x);

/// Whether the bounds leave open how they compare.
bool isOpen(const Element &a, const Element &b);

//===----------------------------------------------------------------------===//
// Conversions and choices
//===----------------------------------------------------------------------===//

Element floatToFloat(const Kind &to, const Element &x, Rounding rounding);
/// Keeps the integer, for `roundedAgain`.
Element integerToFloat(const Kind &to, const Element &x);
/// Of what an integer was rounded to: the compiler may round the integer instead.
Element roundedAgain(const Kind &to, const Element &x);
/// What is larger than the kind's integers gives an unspecified one, or the largest; NaN the same, or 0.
Element floatToInteger(const Kind &to, const Element &x, Rounding rounding, bool saturate);
/// The last bits, or the nearest integer of the kind.
Element integerToInteger(const Kind &to, const Element &x, bool saturate);
/// `preferred`, with a bound that covers `other`.
Element either(const Kind &kind, const Element &preferred, const Element &other);
Element select(const Kind &kind, const Element &condition, const Element &x, const Element &y);

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// How a sum is taken: exactly where `bits` hold all partial sums, else with an error for each term of at
/// most `unit` times the sum of magnitudes.
struct Accumulation {
  int bits = 0;
  double unit = 0;
};
/// In the numbers of the kind, in any order.
Accumulation ordinarySums(const Kind &kind);

/// A sum in any order of numbers of floating point.
struct Sum {
  double total = 0, magnitude = 0; ///< magnitude: of the absolute values
  double bound = 0;
  int64_t terms = 0;
  int lowestBit = std::numeric_limits<int>::max(); ///< exponent of the lowest bit that a term has

  void add(const Element &term);
  Element result(const Kind &kind, const Accumulation &how) const;
};
/// A product in any order of numbers of floating point.
struct Product {
  double value = 1;
  double relative = 0;              ///< of what the bounds allow
  double largest = 1, smallest = 1; ///< magnitudes that a part of it may have
  int64_t terms = 0;
  int bits = 1; ///< that hold each part of it exactly
  bool isOpen = false, hasZero = false;

  void add(const Element &term);
  Element result(const Kind &kind) const;
};
/// Exponent of the lowest bit that is set in a finite number; the largest integer for 0.
int lowestBitOf(double value);

} // namespace tlc::evaluator
