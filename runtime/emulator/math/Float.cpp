// SPDX-License-Identifier: Apache-2.0
/// \file
/// One table of formats and one rounding routine serve every conversion.
#include "runtime/emulator/math/Float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlc::emulator {
namespace {

struct FormatFacts {
  int fractionBits;
  int bias;
  uint32_t signBit;
  uint32_t largest;  ///< largest finite magnitude
  uint32_t infinity; ///< what is beyond it: infinity, or e4m3's only NaN
  uint32_t nan;
  int shift; ///< position of the lowest fraction bit in the register
};

constexpr FormatFacts factsOf(FloatFormat format) {
  switch (format) {
  case FloatFormat::e2m1:
    return {1, 1, 0x8, 0x7, 0x8, 0x8, 0};
  case FloatFormat::e2m3:
    return {3, 1, 0x20, 0x1F, 0x20, 0x20, 0};
  case FloatFormat::e3m2:
    return {2, 3, 0x20, 0x1F, 0x20, 0x20, 0};
  case FloatFormat::ue8m0:
    return {0, 127, 0x100, 0xFE, 0xFF, 0xFF, 0};
  case FloatFormat::e4m3:
    return {3, 7, 0x80, 0x7E, 0x7F, 0x7F, 0};
  case FloatFormat::e5m2:
    return {2, 15, 0x80, 0x7B, 0x7C, 0x7F, 0};
  case FloatFormat::f16:
    return {10, 15, 0x8000, 0x7BFF, 0x7C00, 0x7FFF, 0};
  case FloatFormat::bf16:
    return {7, 127, 0x8000, 0x7F7F, 0x7F80, 0x7FFF, 0};
  case FloatFormat::tf32:
    return {10, 127, 0x40000, 0x3FBFF, 0x3FC00, 0x3FFFF, 13};
  case FloatFormat::f32:
    break;
  }
  return {23, 127, 0x80000000, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF, 0};
}

bool hasNan(const FormatFacts &facts) { return facts.nan < facts.signBit; }

/// To a power of two: the exponent, rounded up or down, of the magnitude.
uint32_t toExponent(double value, FloatConversion conversion) {
  const FormatFacts facts = factsOf(FloatFormat::ue8m0);
  if (std::isnan(value))
    return facts.nan;
  const double absolute = std::fabs(value);
  if (std::isinf(absolute))
    return conversion.saturateFinite ? facts.largest : facts.infinity;
  if (absolute <= 0x1p-127)
    return 0;
  int exponent = std::ilogb(absolute);
  if (conversion.rounding == Rounding::up && std::ldexp(1.0, exponent) != absolute)
    ++exponent;
  const uint32_t biased = uint32_t(exponent + facts.bias);
  return biased > facts.largest ? (conversion.saturateFinite ? facts.largest : facts.infinity) : biased;
}

/// `scaled` (not negative) to an integer.
double roundToInteger(double scaled, Rounding rounding, bool negative) {
  const double below = std::floor(scaled), rest = scaled - below;
  bool increment = false;
  switch (rounding) {
  case Rounding::nearestEven:
    increment = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2.0) != 0.0);
    break;
  case Rounding::nearestAway:
    increment = rest >= 0.5;
    break;
  case Rounding::towardZero:
    break;
  case Rounding::down:
    increment = negative && rest > 0.0;
    break;
  case Rounding::up:
    increment = !negative && rest > 0.0;
    break;
  }
  return increment ? below + 1.0 : below;
}

/// Whether a finite value beyond the range goes to infinity.
bool overflowsToInfinity(Rounding rounding, bool negative) {
  switch (rounding) {
  case Rounding::towardZero:
    return false;
  case Rounding::down:
    return negative;
  case Rounding::up:
    return !negative;
  case Rounding::nearestEven:
  case Rounding::nearestAway:
    break;
  }
  return true;
}

} // namespace

uint32_t canonicalNan(FloatFormat format) {
  if (format == FloatFormat::tf32)
    return 0x7FFFFFFFu;
  const FormatFacts facts = factsOf(format);
  return hasNan(facts) ? facts.nan : facts.largest;
}

uint32_t largestFinite(FloatFormat format) {
  const FormatFacts facts = factsOf(format);
  return facts.largest << facts.shift;
}

double toDouble(FloatFormat format, uint32_t bits) {
  const FormatFacts facts = factsOf(format);
  if (format == FloatFormat::ue8m0) {
    bits &= 0xFF;
    return bits == facts.nan ? std::numeric_limits<double>::quiet_NaN()
                             : std::ldexp(1.0, int(bits) - facts.bias);
  }
  bits >>= facts.shift;
  const bool negative = bits & facts.signBit;
  const uint32_t magnitude = bits & (facts.signBit - 1);
  double value;
  if (magnitude > facts.largest) {
    const bool infinite = magnitude == facts.infinity && facts.infinity != facts.nan;
    value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    const int exponent = int(magnitude >> facts.fractionBits);
    const uint32_t one = 1u << facts.fractionBits, fraction = magnitude & (one - 1);
    // Exponent 0 means no leading one, at the scale of exponent 1.
    const double significand = exponent == 0 ? fraction : fraction + one;
    value = std::ldexp(significand, (exponent == 0 ? 1 : exponent) - facts.bias - facts.fractionBits);
  }
  return negative ? -value : value;
}

float toFloat(FloatFormat format, uint32_t bits) {
  switch (format) {
  case FloatFormat::f16:
    return f16ToFloat(uint16_t(bits));
  case FloatFormat::bf16:
    return bf16ToFloat(uint16_t(bits));
  case FloatFormat::f32:
    return std::bit_cast<float>(bits);
  default:
    return float(toDouble(format, bits));
  }
}

uint32_t fromFloatRandomly(FloatFormat format, float value, uint32_t random, unsigned randomBits,
                           FloatConversion conversion) {
  conversion.rounding = Rounding::towardZero;
  if (!std::isfinite(value))
    return fromDouble(format, value, conversion);
  const FormatFacts facts = factsOf(format);
  const double absolute = std::fabs(double(value));
  const int exponent = absolute == 0.0 ? 1 - facts.bias : std::max(std::ilogb(absolute), 1 - facts.bias);
  // A fraction of the unit in the last place, below one: exact in a double.
  const double unit = std::ldexp(1.0, exponent - facts.fractionBits);
  const double part = std::ldexp(double(random), -int(randomBits)) * unit;
  const bool overflows = absolute + part >= toDouble(format, largestFinite(format)) + unit;
  if (overflows && !conversion.saturateFinite) // as if rounded up to infinity
    conversion.rounding = std::signbit(value) ? Rounding::down : Rounding::up;
  return fromDouble(format, std::copysign(absolute + part, double(value)), conversion);
}

uint32_t fromDouble(FloatFormat format, double value, FloatConversion conversion) {
  if (format == FloatFormat::ue8m0)
    return toExponent(value, conversion);
  if (std::isnan(value))
    return canonicalNan(format);
  const FormatFacts facts = factsOf(format);
  const bool negative = std::signbit(value);
  if (negative && conversion.relu)
    return 0;

  uint32_t magnitude = facts.infinity;
  bool toInfinity = true;
  if (std::isfinite(value)) {
    const double absolute = std::fabs(value);
    const int lowest = 1 - facts.bias;
    const int exponent = absolute == 0.0 ? lowest : std::max(std::ilogb(absolute), lowest);
    if (exponent <= facts.bias + 1) {
      // In units of the last place. The implicit one adds 1 to the exponent
      // field, as does a carry out of the fraction; without it the value is
      // subnormal and the field is 0.
      const double scaled = std::ldexp(absolute, facts.fractionBits - exponent);
      const uint32_t units = uint32_t(roundToInteger(scaled, conversion.rounding, negative));
      magnitude = (uint32_t(exponent + facts.bias - 1) << facts.fractionBits) + units;
    }
    toInfinity = overflowsToInfinity(conversion.rounding, negative);
  }
  if (magnitude > facts.largest)
    magnitude = conversion.saturateFinite || !hasNan(facts) || !toInfinity ? facts.largest : facts.infinity;
  if (magnitude > facts.largest && facts.infinity == facts.nan)
    return canonicalNan(format); // e4m3 has no infinity, its NaN no sign
  return (magnitude | (negative ? facts.signBit : 0)) << facts.shift;
}

} // namespace tlc::emulator
