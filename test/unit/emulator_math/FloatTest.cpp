// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversions: values by hand, and every rounding mode against a search among
/// all values of the format.
#include "test/unit/emulator_math/Support.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tlc::emulator;
using namespace tlc::emulator::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr FloatFormat narrowFormats[] = {FloatFormat::e4m3, FloatFormat::e5m2, FloatFormat::f16,
                                         FloatFormat::bf16};
constexpr Rounding roundings[] = {Rounding::nearestEven, Rounding::towardZero, Rounding::down, Rounding::up,
                                  Rounding::nearestAway};

unsigned width(FloatFormat format) {
  return format == FloatFormat::e4m3 || format == FloatFormat::e5m2 ? 8 : 16;
}

/// The finite magnitudes of a format, ascending; their index is their bits.
std::vector<double> magnitudes(FloatFormat format) {
  std::vector<double> values;
  for (uint32_t bits = 0; bits <= largestFinite(format); ++bits)
    values.push_back(toDouble(format, bits));
  return values;
}

/// Rounds by looking for the neighbours of |value| in the list.
uint32_t roundBySearch(const std::vector<double> &values, double value, Rounding rounding, unsigned width) {
  const bool negative = std::signbit(value);
  const double magnitude = std::fabs(value);
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  uint32_t bits = uint32_t(above - values.begin());
  if (*above != magnitude) {
    const uint32_t low = bits - 1;
    const double toLow = magnitude - values[low], toHigh = values[bits] - magnitude;
    bool up = rounding == Rounding::up ? !negative : rounding == Rounding::down && negative;
    if (rounding == Rounding::nearestEven)
      up = toHigh < toLow || (toHigh == toLow && low % 2 == 1);
    if (rounding == Rounding::nearestAway)
      up = toHigh <= toLow;
    bits = up ? bits : low;
  }
  return bits | uint32_t(negative) << (width - 1);
}

} // namespace

TEST_CASE("narrow floats have the values of their formats") {
  CHECK(toDouble(FloatFormat::f16, 0x3C00) == 1.0);
  CHECK(toDouble(FloatFormat::f16, 0xC000) == -2.0);
  CHECK(toDouble(FloatFormat::f16, 0x7BFF) == 65504.0);
  CHECK(toDouble(FloatFormat::f16, 0x0001) == 0x1p-24);
  CHECK(toDouble(FloatFormat::f16, 0xFC00) == -infinity);
  CHECK(std::isnan(toDouble(FloatFormat::f16, 0x7C01)));
  CHECK(toDouble(FloatFormat::bf16, 0x3FC0) == 1.5);
  CHECK(toDouble(FloatFormat::bf16, 0x0001) == 0x1p-133);
  CHECK(toDouble(FloatFormat::bf16, 0x7F80) == infinity);
  CHECK(toDouble(FloatFormat::tf32, 0x3F801FFF) == 1.0); // low 13 bits are ignored
  CHECK(toDouble(FloatFormat::tf32, 0x3F802000) == 1.0 + 0x1p-10);
  CHECK(toDouble(FloatFormat::e4m3, 0x7E) == 448.0);
  CHECK(toDouble(FloatFormat::e4m3, 0x08) == 0x1p-6);
  CHECK(toDouble(FloatFormat::e4m3, 0x01) == 0x1p-9);
  CHECK(std::isnan(toDouble(FloatFormat::e4m3, 0x7F)));
  CHECK(std::isnan(toDouble(FloatFormat::e4m3, 0xFF)));
  CHECK(toDouble(FloatFormat::e5m2, 0x7B) == 57344.0);
  CHECK(toDouble(FloatFormat::e5m2, 0x01) == 0x1p-16);
  CHECK(toDouble(FloatFormat::e5m2, 0x7C) == infinity);
  CHECK(toDouble(FloatFormat::f32, 0x00000001) == 0x1p-149);
}

TEST_CASE("every value of a format survives the way to double and back") {
  for (FloatFormat format : narrowFormats)
    for (uint32_t bits = 0; bits < 1u << width(format); ++bits) {
      const double value = toDouble(format, bits);
      const uint32_t expected = std::isnan(value) ? canonicalNan(format) : bits;
      for (Rounding rounding : roundings)
        if (fromDouble(format, value, {.rounding = rounding}) != expected)
          FAIL("bits " << bits << " of format " << int(format) << ", rounding " << int(rounding));
    }
}

TEST_CASE("every rounding mode picks the right neighbour") {
  Random random;
  INFO("seed " << random.seed);
  for (FloatFormat format : narrowFormats) {
    const std::vector<double> values = magnitudes(format);
    for (int i = 0; i < 20000; ++i) {
      const size_t at = size_t(random.integer(0, int64_t(values.size()) - 2));
      // Between two neighbours: near the lower one, on the tie, just beside it, anywhere.
      const double fractions[] = {0x1p-20, 0.5, 0.5 - 0x1p-20, 0.5 + 0x1p-20, random.real(0, 1)};
      double value = values[at] + (values[at + 1] - values[at]) * fractions[i % 5];
      value = random.bits() % 2 ? value : -value;
      for (Rounding rounding : roundings)
        if (fromDouble(format, value, {.rounding = rounding}) !=
            roundBySearch(values, value, rounding, width(format)))
          FAIL("value " << value << " to format " << int(format) << ", rounding " << int(rounding));
    }
  }
}

TEST_CASE("the direct conversions agree with the general ones") {
  Random random;
  INFO("seed " << random.seed);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double half = toDouble(FloatFormat::f16, bits), brain = toDouble(FloatFormat::bf16, bits);
    const float halfDirect = f16ToFloat(uint16_t(bits)), brainDirect = bf16ToFloat(uint16_t(bits));
    if (std::isnan(half) ? !std::isnan(halfDirect)
                         : std::bit_cast<uint64_t>(double(halfDirect)) != std::bit_cast<uint64_t>(half))
      FAIL("f16 bits " << bits);
    if (std::isnan(brain) ? !std::isnan(brainDirect)
                          : std::bit_cast<uint64_t>(double(brainDirect)) != std::bit_cast<uint64_t>(brain))
      FAIL("bf16 bits " << bits);
  }
  for (int i = 0; i < 1000000; ++i) {
    uint32_t bits = random.bits();
    if (i % 2) // f16's range, and often on or beside a tie
      bits = (bits & 0x80000000) | uint32_t(random.integer(0x32000000, 0x47900000));
    if (i % 4 == 1)
      bits = (bits & ~0x1FFFu) + 0x1000 + uint32_t(random.integer(-1, 1));
    const float value = std::bit_cast<float>(bits);
    if (floatToF16(value) != fromFloat(FloatFormat::f16, value) ||
        floatToBf16(value) != fromFloat(FloatFormat::bf16, value))
      FAIL("float bits " << bits);
  }
  CHECK(floatToF16(65519.996f) == 0x7BFF);
  CHECK(floatToF16(65520.0f) == 0x7C00);
  CHECK(floatToF16(-infinity) == 0xFC00);
  CHECK(floatToF16(std::nanf("")) == 0x7FFF);
  CHECK(floatToBf16(-std::nanf("")) == 0x7FFF);
}

TEST_CASE("tf32 rounds away on ties under rna and keeps its low bits zero") {
  const double tie = 1.0 + 0x1p-11;
  CHECK(fromDouble(FloatFormat::tf32, tie, {.rounding = Rounding::nearestAway}) == 0x3F802000);
  CHECK(fromDouble(FloatFormat::tf32, tie) == 0x3F800000);
  CHECK(fromDouble(FloatFormat::tf32, -tie, {.rounding = Rounding::nearestAway}) == 0xBF802000);
  CHECK(fromDouble(FloatFormat::tf32, std::nan("")) == 0x7FFFFFFF);
  CHECK(fromDouble(FloatFormat::tf32, infinity) == 0x7F800000);
  CHECK(fromDouble(FloatFormat::tf32, infinity, {.saturateFinite = true}) == 0x7F7FE000);
}

TEST_CASE("double to f32 rounds once in every mode") {
  const double value = 1.0 + 0x1p-24 + 0x1p-50;
  CHECK(fromDouble(FloatFormat::f32, value) == 0x3F800001);
  CHECK(fromDouble(FloatFormat::f32, value, {.rounding = Rounding::towardZero}) == 0x3F800000);
  CHECK(fromDouble(FloatFormat::f32, -value, {.rounding = Rounding::down}) == 0xBF800001);
  CHECK(fromDouble(FloatFormat::f32, -value, {.rounding = Rounding::up}) == 0xBF800000);
  CHECK(fromDouble(FloatFormat::f32, 0x1p-1074, {.rounding = Rounding::up}) == 0x00000001);
  CHECK(fromDouble(FloatFormat::f32, 1e300) == 0x7F800000);
  Random random;
  INFO("seed " << random.seed);
  for (int i = 0; i < 100000; ++i) {
    const double wide = std::ldexp(random.real(-2, 2), int(random.integer(-155, 130)));
    if (fromDouble(FloatFormat::f32, wide) != std::bit_cast<uint32_t>(float(wide)))
      FAIL("value " << wide);
  }
}

TEST_CASE("what is too large follows the rounding mode unless it saturates") {
  const auto f16 = [](double value, Rounding rounding) {
    return fromDouble(FloatFormat::f16, value, {.rounding = rounding});
  };
  CHECK(f16(1e6, Rounding::nearestEven) == 0x7C00);
  CHECK(f16(1e6, Rounding::towardZero) == 0x7BFF);
  CHECK(f16(1e6, Rounding::down) == 0x7BFF);
  CHECK(f16(1e6, Rounding::up) == 0x7C00);
  CHECK(f16(-1e6, Rounding::down) == 0xFC00);
  CHECK(f16(-1e6, Rounding::up) == 0xFBFF);
  CHECK(f16(infinity, Rounding::towardZero) == 0x7C00);
  CHECK(fromDouble(FloatFormat::f16, infinity, {.saturateFinite = true}) == 0x7BFF);
  CHECK(fromDouble(FloatFormat::e4m3, 464.0, {.saturateFinite = true}) == 0x7E);
  CHECK(fromDouble(FloatFormat::e4m3, -1e9, {.saturateFinite = true}) == 0xFE);
  CHECK(fromDouble(FloatFormat::e4m3, 463.0) == 0x7E);
  CHECK(fromDouble(FloatFormat::e4m3, 464.0) == 0x7E); // a tie, to even
  CHECK(fromDouble(FloatFormat::e4m3, 464.5) == 0x7F);
  CHECK(fromDouble(FloatFormat::e4m3, -infinity) == 0x7F);
  CHECK(fromDouble(FloatFormat::e5m2, -infinity, {.saturateFinite = true}) == 0xFB);
  CHECK(fromDouble(FloatFormat::e5m2, 61440.0) == 0x7C);
  for (FloatFormat format : narrowFormats)
    CHECK(fromDouble(format, std::nan(""), {.saturateFinite = true, .relu = true}) == canonicalNan(format));
}

TEST_CASE("relu clamps negative results to +0") {
  CHECK(fromDouble(FloatFormat::bf16, -1.0, {.relu = true}) == 0);
  CHECK(fromDouble(FloatFormat::bf16, -0.0, {.relu = true}) == 0);
  CHECK(fromDouble(FloatFormat::e5m2, -infinity, {.relu = true}) == 0);
  CHECK(fromDouble(FloatFormat::f16, 1.0, {.relu = true}) == 0x3C00);
}
