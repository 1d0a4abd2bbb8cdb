// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions and their bounds.
#include "compiler/evaluator/Functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace tlc::evaluator {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallestNormalF32 = 0x1p-126;
using std::numbers::ln2, std::numbers::pi;

double valueOf(Function function, double x) {
  switch (function) {
  case Function::exp:
    return std::exp(x);
  case Function::exp2:
    return std::exp2(x);
  case Function::expm1:
    return std::expm1(x);
  case Function::log:
    return std::log(x);
  case Function::log2:
    return std::log2(x);
  case Function::log10:
    return std::log10(x);
  case Function::log1p:
    return std::log1p(x);
  case Function::sqrt:
    return std::sqrt(x);
  case Function::rsqrt:
    return 1 / std::sqrt(x);
  case Function::sin:
    return std::sin(x);
  case Function::cos:
    return std::cos(x);
  case Function::tan:
    return std::tan(x);
  case Function::atan:
    return std::atan(x);
  case Function::tanh:
    return std::tanh(x);
  case Function::erf:
    return std::erf(x);
  case Function::floor:
    return std::floor(x);
  case Function::ceil:
    return std::ceil(x);
  case Function::round:
    return std::nearbyint(x); // ties to even
  case Function::trunc:
    return std::trunc(x);
  }
  return 0;
}

/// The absolute error near 1, where the logarithm is 0, else the relative one.
double errorOfLog2(double x) { return (x > 0.5 && x < 2 ? 1.0 : std::abs(std::log2(x))) * 0x1p-22; }

/// How far `valueOf(function, x)` may be from what is computed, before it is rounded to the type.
double errorOf(Function function, double x, Accuracy accuracy) {
  bool isFast = accuracy == Accuracy::fast;
  double y = std::abs(valueOf(function, x));
  // Of a formula; results that are not normal have a unit's absolute error. What is 0 is 0.
  auto relative = [&](double error) { return y == 0 ? 0 : std::max(y, smallestNormalF32) * error; };
  switch (function) {
  case Function::exp2:
    return x == 0 ? 0 : y * 0x1p-22;
  case Function::exp: // 2 to the x log2(e), whose product is rounded twice
    return x == 0 ? 0 : y * (0x1p-22 + std::abs(x) * 0x1p-22);
  case Function::log2:
    return errorOfLog2(x);
  case Function::log: // log2(x) log(2)
    return errorOfLog2(x) * ln2 + y * 0x1p-22;
  case Function::log10:
    return errorOfLog2(x) * (ln2 / std::numbers::ln10) + y * 0x1p-22;
  case Function::rsqrt:
    return y * 0x1.13p-23; // 2^-22.9
  case Function::sin:
  case Function::cos:
    if (isFast) // 2^-20.5, 2^-14.7
      return std::abs(x) <= 2 * pi ? 0x1.6a1p-21 : 0x1.3b3p-15;
    return relative(0x1p-22);
  case Function::expm1:
  case Function::log1p:
  case Function::erf:
    return relative(0x1p-22);
  case Function::tan:
  case Function::atan:
    return relative(0x1p-21);
  case Function::tanh:
    return y * (isFast ? 0x1p-11 : 0x1p-20);
  case Function::sqrt:
    return isFast ? y * 0x1p-23 : 0;
  case Function::floor:
  case Function::ceil:
  case Function::round:
  case Function::trunc:
    return 0;
  }
  return 0;
}

/// Whether the bounds are of the instructions of f32, which may take subnormal numbers for 0.
bool flushes(Function function, Accuracy accuracy) {
  switch (function) {
  case Function::log:
  case Function::log2:
  case Function::log10:
  case Function::rsqrt:
    return true;
  case Function::sqrt:
    return accuracy == Accuracy::fast;
  default:
    return false;
  }
}

/// Whether it is computed of whole bits, and only rounded.
bool isRounded(Function function, Accuracy accuracy) {
  switch (function) {
  case Function::sqrt:
    return accuracy == Accuracy::accurate;
  case Function::floor:
  case Function::ceil:
  case Function::round:
  case Function::trunc:
    return true;
  default:
    return false;
  }
}

/// What the program computes lies from `low` to `high`, and what approximates it `errors` beyond.
Element approximated(const Kind &kind, double exact, double low, double high) {
  if (exact != 0 && low < smallestNormalF32 && high > -smallestNormalF32) {
    low = std::min(low, 0.0); // subnormal results of f32 may be 0
    high = std::max(high, 0.0);
  }
  return enclosed(kind, exact, low, high);
}

bool isOfAngles(Function function) {
  return function == Function::sin || function == Function::cos || function == Function::tan;
}

/// Sine, cosine and tangent, which repeat.
Element ofAngle(const Kind &kind, Function function, const Element &x, Accuracy accuracy) {
  bool isFast = accuracy == Accuracy::fast;
  double exact = valueOf(function, x.value), largest = std::abs(x.value) + x.bound;
  constexpr double largestAngle = 0x1p20, largestFastAngle = 100 * pi;
  if (largest > (isFast ? largestFastAngle : largestAngle)) {
    bool isNaN = !isFast && std::abs(x.value) - x.bound > largestAngle;
    Element none = exactFloat(kind, std::numeric_limits<double>::quiet_NaN());
    return isNaN ? none : unspecified(exactFloat(kind, exact));
  }
  double from = x.value - x.bound, to = x.value + x.bound;
  if (function == Function::tan) {
    auto branch = [](double angle) { return std::floor(angle / pi + 0.5); };
    if (branch(from) != branch(to))
      return unspecified(exactFloat(kind, exact));
    return approximated(kind, exact, std::tan(from) - errorOf(function, from, accuracy),
                        std::tan(to) + errorOf(function, to, accuracy));
  }
  // No steeper than 1.
  double error = errorOf(function, x.value, accuracy);
  if (x.bound != 0)
    error = std::max(errorOf(function, largest, accuracy), isFast ? 0 : 0x1p-22);
  return approximated(kind, exact, std::max(-1.0, exact - x.bound) - error,
                      std::min(1.0, exact + x.bound) + error);
}

} // namespace

Element apply(const Kind &kind, Function function, const Element &x, Accuracy accuracy) {
  double exact = valueOf(function, x.value);
  Element result = exactFloat(kind, exact);
  if (isUnspecified(x) || (function == Function::rsqrt && x.value == 0)) // infinite, of the sign of the zero
    return unspecified(result);
  if (std::isnan(x.value) || (std::isinf(x.value) && std::isnan(exact)))
    return result;
  if (isOfAngles(function))
    return ofAngle(kind, function, x, accuracy);
  bool hasLimit = function == Function::tanh || function == Function::atan || function == Function::erf;
  if (!isFinite(x) && !hasLimit)
    return result;
  if (flushes(function, accuracy) && x.value != 0 && std::abs(x.value) - x.bound < smallestNormalF32)
    return unspecified(result);
  // All others are monotone.
  double from = x.value - x.bound, to = x.value + x.bound;
  double low = valueOf(function, from), high = valueOf(function, to);
  if (std::isnan(low) && std::isnan(high))
    return result;
  double errorOfLow = errorOf(function, from, accuracy), errorOfHigh = errorOf(function, to, accuracy);
  if (low > high) {
    std::swap(low, high);
    std::swap(errorOfLow, errorOfHigh);
  }
  if (low == high && !std::isfinite(low)) // such as log 0
    return result;
  if (isExact(x) && errorOfLow == 0)
    return result;
  low -= errorOfLow;
  high += errorOfHigh;
  return isRounded(function, accuracy) ? enclosed(kind, exact, low, high)
                                       : approximated(kind, exact, low, high);
}

namespace {

/// How far a power of finite positive numbers may be off, as a part of it.
double errorOfPower(double x, double y, Accuracy accuracy) {
  if (accuracy == Accuracy::accurate)
    return 0x1p-21;
  // 2 to the y log2(x): the exponent's errors, and those of its power.
  double exponent = std::abs(y) * errorOfLog2(x) * (1 + 0x1p-23) + std::abs(y * std::log2(x)) * 0x1p-23;
  return std::expm1(ln2 * exponent) * (1 + 0x1p-22) + 0x1p-22;
}

} // namespace

Element power(const Kind &kind, const Element &x, const Element &y, Accuracy accuracy) {
  double exact = std::pow(x.value, y.value);
  Element result = exactFloat(kind, exact);
  bool areExact = isExact(x) && isExact(y), isFast = accuracy == Accuracy::fast;
  if (isFast && (!(x.value - x.bound >= smallestNormalF32) || !isFinite(x)))
    return unspecified(result);
  if (!isFast && ((isExact(x) && x.value == 1) || (isExact(y) && y.value == 0)))
    return exactFloat(kind, 1);
  if (!isFinite(x) || !isFinite(y) || (x.value == 0 && isExact(x)))
    return areExact && !isFast ? result : unspecified(result);
  if (std::isinf(x.bound + y.bound))
    return unspecified(result);
  if (x.value - x.bound <= 0) { // the sign of the result is that of a whole number's power
    if (!areExact)
      return unspecified(result);
    if (std::isnan(exact))
      return result;
    double error = std::max(std::abs(exact), smallestNormalF32) * errorOfPower(-x.value, y.value, accuracy);
    return approximated(kind, exact, exact - error, exact + error);
  }
  // Monotone in each operand.
  double low = infinity, high = 0;
  for (double base : {x.value - x.bound, x.value + x.bound})
    for (double exponent : {y.value - y.bound, y.value + y.bound}) {
      double value = std::pow(base, exponent);
      double error = std::max(value, smallestNormalF32) * errorOfPower(base, exponent, accuracy);
      low = std::min(low, value - error);
      high = std::max(high, value + error);
    }
  return approximated(kind, exact, low, high);
}

namespace {

/// The sum, of which any narrower type's nearest number is that of the exact sum: rounded to odd.
double sumToOdd(double a, double b) {
  double sum = a + b;
  double ofB = sum - a, rest = (a - (sum - ofB)) + (b - ofB);
  if (rest == 0 || !std::isfinite(sum) || (std::bit_cast<uint64_t>(sum) & 1) != 0)
    return sum;
  return std::nextafter(sum, rest > 0 ? infinity : -infinity);
}

} // namespace

Element multiplyAdd(const Kind &kind, const Element &a, const Element &b, const Element &c) {
  // The product is exact in a double, but of two doubles.
  double exact = kind.bits == 64 ? std::fma(a.value, b.value, c.value) : sumToOdd(a.value * b.value, c.value);
  Element result = exactFloat(kind, exact);
  double error = std::abs(a.value) * b.bound + std::abs(b.value) * a.bound + a.bound * b.bound + c.bound;
  if (isExact(a) && isExact(b) && isExact(c))
    return result;
  if (!isFinite(a) || !isFinite(b) || !isFinite(c) || !std::isfinite(error))
    return unspecified(result);
  result = enclosed(kind, exact, exact - error, exact + error);
  for (const Element *operand : {&a, &b, &c})
    result = mayBe(mayBe(result, *operand), negate(*operand));
  return result;
}

Element copySign(const Kind &kind, const Element &magnitude, const Element &sign) {
  Element positive = absolute(magnitude), negative = negate(positive);
  if (isUnspecified(sign) || std::isnan(sign.value) || std::abs(sign.value) <= sign.bound)
    return either(kind, positive, negative);
  return sign.value < 0 ? negative : positive;
}

} // namespace tlc::evaluator
