// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rounding and bounds.
#include "compiler/evaluator/Numbers.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace tlc::evaluator {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
} // namespace

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

Kind kindOf(ElementType type) {
  const ElementFacts &facts = factsOf(type);
  const NumberFormat &format = facts.format;
  if (isInteger(type))
    return {.bits = facts.bits, .isUnsigned = isUnsigned(type)};
  return {.isFloat = true,
          .bits = facts.bits,
          .precision = format.precision(),
          .leastExponent = format.leastExponent(),
          .largest = format.largest(),
          .saturates = !format.hasInfinities(),
          .hasNaN = format.specials != Specials::none};
}

Kind kindOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (std::optional<ElementType> known = toElementType(element))
    return kindOf(*known);
  return {.bits = element.isIndex() ? 32 : element.getIntOrFloatBitWidth()};
}

namespace {
double whole(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::nearest:
    return std::nearbyint(value); // ties to even
  case Rounding::zero:
    return std::trunc(value);
  case Rounding::down:
    return std::floor(value);
  case Rounding::up:
    return std::ceil(value);
  }
  return value;
}
} // namespace

double rounded(const Kind &kind, double value, Rounding rounding) {
  if (std::isnan(value))
    return kind.hasNaN ? value : kind.largest;
  if (value == 0)
    return value;
  double result = value;
  if (std::isfinite(value) && kind.bits < 64) {
    int last = std::max(std::ilogb(value), kind.leastExponent) - (kind.precision - 1);
    result = std::copysign(std::ldexp(whole(std::ldexp(value, -last), rounding), last), value);
  }
  if (std::abs(result) <= kind.largest)
    return result;
  bool isCut =
      std::isfinite(value) && (rounding == Rounding::zero || (rounding == Rounding::down && value > 0) ||
                               (rounding == Rounding::up && value < 0));
  return std::copysign(kind.saturates || isCut ? kind.largest : infinity, value);
}

double nearest(const Kind &kind, double value) {
  return kind.bits == 32 ? static_cast<float>(value) : rounded(kind, value, Rounding::nearest);
}

double roundTo(ElementType type, double value) { return nearest(kindOf(type), value); }

int64_t wrapped(const Kind &kind, int64_t value) {
  if (kind.bits == 1)
    return value & 1;
  if (kind.isUnsigned && kind.bits < 64)
    return value & ((int64_t(1) << kind.bits) - 1);
  unsigned unused = 64 - kind.bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

Element exactFloat(const Kind &kind, double value) {
  return {.value = nearest(kind, value), .defined = true};
}
Element exactInteger(const Kind &kind, int64_t value) {
  return {.integer = wrapped(kind, value), .defined = true};
}
Element truthOf(bool value, bool isCertain) {
  return {.integer = value, .bound = isCertain ? 0.0 : infinity, .defined = true};
}
Element unspecified(const Element &value) {
  Element result = value;
  result.bound = infinity;
  result.defined = true;
  return result;
}

bool isSame(const Kind &kind, const Element &a, const Element &b) {
  if (!kind.isFloat)
    return a.integer == b.integer;
  return a.value == b.value || (std::isnan(a.value) && std::isnan(b.value));
}

Element enclosed(const Kind &kind, double value, double low, double high, Rounding rounding) {
  Element result = {.value = rounded(kind, value, rounding), .defined = true};
  if (std::isnan(low) || std::isnan(high))
    return unspecified(result);
  constexpr double slack = 0x1p-51; // of what is computed here
  low = rounded(kind, low - std::abs(low) * slack, rounding);
  high = rounded(kind, high + std::abs(high) * slack, rounding);
  if (low == high && low == result.value)
    return result;
  result.bound = std::max(high - result.value, result.value - low) * (1 + slack);
  return std::isfinite(result.value) && std::isfinite(result.bound) ? result : unspecified(result);
}

bool isFinite(const Element &x) { return std::isfinite(x.value); }

Element mayBe(Element result, const Element &operand) {
  if (result.value == operand.value)
    result.bound = std::max(result.bound, operand.bound);
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Element add(const Kind &kind, const Element &a, const Element &b) {
  Element sum = exactFloat(kind, a.value + b.value);
  double error = a.bound + b.bound;
  if (error == 0)
    return sum;
  if (std::isinf(error))
    return unspecified(sum);
  if (!isFinite(a) || !isFinite(b))
    return sum;
  double exact = a.value + b.value;
  return mayBe(mayBe(enclosed(kind, exact, exact - error, exact + error), a), b);
}

Element multiply(const Kind &kind, const Element &a, const Element &b) {
  double exact = a.value * b.value;
  if (std::isinf(a.bound + b.bound))
    return unspecified(exactFloat(kind, exact));
  if (!isFinite(a) || !isFinite(b)) {
    // Infinity times what may be 0 or of either sign.
    const Element &other = isFinite(a) ? a : b;
    bool isOpen = other.bound != 0 && std::abs(other.value) <= other.bound && !std::isnan(exact);
    Element product = exactFloat(kind, exact);
    return isOpen ? unspecified(product) : product;
  }
  double error = std::abs(a.value) * b.bound + std::abs(b.value) * a.bound + a.bound * b.bound;
  Element product =
      error == 0 ? exactFloat(kind, exact) : enclosed(kind, exact, exact - error, exact + error);
  // A sum may take the product as it was before it is rounded.
  double left = kind.bits == 64 ? std::fma(a.value, b.value, -exact) : exact - product.value;
  product.bound = std::max(product.bound, std::abs(left) + error);
  return std::isnan(product.bound) ? unspecified(product) : product;
}

Element divide(const Kind &kind, const Element &a, const Element &b) {
  double exact = a.value / b.value;
  Element quotient = exactFloat(kind, exact);
  if (std::isinf(a.bound + b.bound))
    return unspecified(quotient);
  if (std::isnan(a.value) || std::isnan(b.value))
    return quotient;
  if (std::abs(b.value) <= b.bound) // the sign of a zero is not part of it
    return b.bound == 0 && a.value == 0 && isExact(a) ? quotient : unspecified(quotient);
  if (!isFinite(a) || !isFinite(b) || (a.value == 0 && isExact(a)))
    return quotient;
  int exponent = 0;
  bool isPowerOfTwo = isExact(b) && std::abs(std::frexp(b.value, &exponent)) == 0.5;
  // In f32 and narrower types within two units of f32.
  double error = kind.bits == 64 || isPowerOfTwo ? 0 : std::abs(exact) * 0x1p-22 + 0x1p-148;
  error += (a.bound + std::abs(exact) * b.bound) / (std::abs(b.value) - b.bound);
  if (error == 0)
    return quotient;
  quotient = enclosed(kind, exact, exact - error, exact + error);
  if (isPowerOfTwo) // a product that is only scaled may still be fused with a sum
    quotient.bound = std::max(quotient.bound, error);
  return quotient;
}

Element maximum(const Kind &kind, const Element &a, const Element &b) {
  if (std::isinf(a.bound + b.bound))
    return unspecified(std::fmax(a.value, b.value) == a.value ? a : b);
  if (std::isnan(a.value))
    return b;
  if (std::isnan(b.value))
    return a;
  double value = std::max(a.value, b.value);
  double low = std::max(a.value - a.bound, b.value - b.bound);
  double high = std::max(a.value + a.bound, b.value + b.bound);
  return low == high ? exactFloat(kind, value) : mayBe(mayBe(enclosed(kind, value, low, high), a), b);
}

Element minimum(const Kind &kind, const Element &a, const Element &b) {
  return negate(maximum(kind, negate(a), negate(b)));
}

Element maximumOrNaN(const Kind &kind, const Element &a, const Element &b) {
  if (std::isnan(a.value) || std::isnan(b.value)) {
    const Element &result = std::isnan(a.value) ? a : b;
    return isUnspecified(result) ? unspecified(result) : result;
  }
  return maximum(kind, a, b);
}

Element minimumOrNaN(const Kind &kind, const Element &a, const Element &b) {
  return negate(maximumOrNaN(kind, negate(a), negate(b)));
}

Element negate(const Element &x) {
  Element result = x;
  result.value = -x.value;
  result.integer = 0;
  return result;
}

Element absolute(const Element &x) {
  Element result = x;
  result.value = std::abs(x.value);
  result.integer = 0;
  return result;
}

bool isOpen(const Element &a, const Element &b) {
  double error = a.bound + b.bound;
  if (error == 0 || std::isinf(error))
    return error != 0;
  return std::abs(a.value - b.value) <= error; // not of NaN
}

//===----------------------------------------------------------------------===//
// Conversions and choices
//===----------------------------------------------------------------------===//

Element floatToFloat(const Kind &to, const Element &x, Rounding rounding) {
  Element exact = {.value = rounded(to, x.value, rounding), .defined = true};
  if (isExact(x) || !isFinite(x))
    return exact;
  return isUnspecified(x) ? unspecified(exact)
                          : mayBe(enclosed(to, x.value, x.value - x.bound, x.value + x.bound, rounding), x);
}

Element integerToFloat(const Kind &to, const Element &x) {
  // An i64 has more bits than a double: rounded once, to odd, it is rounded to the narrower type as it is
  // itself.
  auto value = static_cast<double>(x.integer);
  if (to.bits < 64 && std::abs(value) >= 0x1p53) {
    uint64_t magnitude =
        x.integer < 0 ? 0 - static_cast<uint64_t>(x.integer) : static_cast<uint64_t>(x.integer);
    constexpr uint64_t low = 0x7ff;
    magnitude = (magnitude & ~low) | ((magnitude & low) != 0 ? low + 1 : 0);
    value = std::copysign(static_cast<double>(magnitude), value);
  }
  Element result = exactFloat(to, value);
  result.integer = x.integer;
  return isExact(x) ? result : unspecified(result);
}

Element roundedAgain(const Kind &to, const Element &x) {
  Element twice = floatToFloat(to, x, Rounding::nearest);
  return x.integer == 0 ? twice : either(to, integerToFloat(to, x), twice);
}

Element floatToInteger(const Kind &to, const Element &x, Rounding rounding, bool saturate) {
  double end = std::ldexp(1.0, static_cast<int>(to.bits) - (to.isUnsigned ? 0 : 1)); // the largest, and 1
  double least = to.isUnsigned ? 0 : -end;
  auto fits = [&](double value) { return value >= least && value < end; };
  auto integerOf = [&](double value) -> int64_t {
    if (std::isnan(value))
      return 0;
    if (value >= end)
      return static_cast<int64_t>((uint64_t(1) << (to.bits - (to.isUnsigned ? 0 : 1))) - 1);
    return static_cast<int64_t>(std::max(value, least));
  };
  double low = whole(x.value - x.bound, rounding), high = whole(x.value + x.bound, rounding);
  if (isUnspecified(x) || (!saturate && !(fits(low) && fits(high))))
    return unspecified({});
  Element result = exactInteger(to, integerOf(whole(x.value, rounding)));
  return integerOf(low) == integerOf(high) ? result : unspecified(result);
}

Element integerToInteger(const Kind &to, const Element &x, bool saturate) {
  int64_t value = x.integer;
  if (saturate && to.bits < 64) {
    int64_t most = (int64_t(1) << (to.bits - (to.isUnsigned ? 0 : 1))) - 1;
    value = std::clamp(value, to.isUnsigned ? 0 : -most - 1, most);
  }
  Element result = exactInteger(to, value);
  return isExact(x) ? result : unspecified(result);
}

Element either(const Kind &kind, const Element &preferred, const Element &other) {
  Element result = preferred;
  if (isSame(kind, preferred, other))
    result.bound = std::max(preferred.bound, other.bound);
  else if (!kind.isFloat || !isFinite(preferred) || !isFinite(other))
    return unspecified(preferred);
  else
    result.bound = std::max(preferred.bound, std::abs(preferred.value - other.value) + other.bound);
  return result;
}

Element select(const Kind &kind, const Element &condition, const Element &x, const Element &y) {
  const Element &chosen = condition.integer ? x : y, &other = condition.integer ? y : x;
  return isExact(condition) ? chosen : either(kind, chosen, other);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

int lowestBitOf(double value) {
  if (value == 0 || !std::isfinite(value))
    return std::numeric_limits<int>::max();
  int exponent = 0;
  auto significand = static_cast<int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  return exponent - 53 + std::countr_zero(static_cast<uint64_t>(significand));
}

Accumulation ordinarySums(const Kind &kind) { return {kind.precision, std::ldexp(1.0, -kind.precision)}; }

void Sum::add(const Element &term) {
  total += term.value;
  if (std::isfinite(term.value)) // the others decide alone
    magnitude += std::abs(term.value) + (isUnspecified(term) ? 0 : term.bound);
  bound += term.bound;
  lowestBit = std::min(lowestBit, lowestBitOf(term.value));
  ++terms;
}

Element Sum::result(const Kind &kind, const Accumulation &how) const {
  Element sum = exactFloat(kind, total);
  // A part of the sum may be infinite where all of it is not.
  if (std::isinf(bound) || magnitude > kind.largest)
    return unspecified(sum);
  if (!std::isfinite(total))
    return sum;
  bool isExactInAnyOrder =
      terms <= 1 || magnitude == 0 || (bound == 0 && magnitude <= std::ldexp(1.0, lowestBit + how.bits));
  double error = bound + (isExactInAnyOrder ? 0 : static_cast<double>(terms) * how.unit * magnitude);
  return error == 0 ? sum : enclosed(kind, total, total - error, total + error);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void Product::add(const Element &term) {
  double magnitude = std::abs(term.value);
  value *= term.value;
  ++terms;
  isOpen |= term.bound != 0 && !(term.bound < magnitude);
  if (!std::isfinite(term.value)) {
    largest = infinity;
    return;
  }
  hasZero |= magnitude == 0;
  if (magnitude == 0 || isOpen)
    return;
  relative += term.bound / magnitude * (1 + relative);
  largest *= std::max(1.0, magnitude + term.bound);
  smallest *= std::min(1.0, magnitude - term.bound);
  if (int own = std::ilogb(magnitude) - lowestBitOf(magnitude) + 1; own > 1)
    bits = std::min(bits + own, 1 << 20);
}

Element Product::result(const Kind &kind) const {
  Element product = exactFloat(kind, value);
  if (std::isnan(value) && largest < infinity)
    return product;
  // A part of the product may be infinite or lose bits where all of it does not.
  bool mayOverflow = terms > 1 && !(largest <= kind.largest);
  bool mayUnderflow = terms > 1 && smallest < std::ldexp(1.0, kind.leastExponent);
  if (isOpen || mayOverflow || (mayUnderflow && !hasZero))
    return unspecified(product);
  if (hasZero || !std::isfinite(value))
    return product;
  bool isExactInAnyOrder = terms <= 1 || (relative == 0 && bits <= kind.precision);
  double rounding = isExactInAnyOrder ? 0 : std::ldexp(static_cast<double>(terms), -kind.precision);
  double error = std::abs(value) * (relative + rounding * (1 + relative)) * (1 + rounding);
  return error == 0 ? product : enclosed(kind, value, value - error, value + error);
}

} // namespace tlc::evaluator
