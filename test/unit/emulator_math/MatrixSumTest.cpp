// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sums of matrix instructions: what is cut, and where.
#include "runtime/emulator/math/MatrixSum.h"

#include <catch2/catch.hpp>
#include <random>
#include <string_view>
#include <vector>

using namespace tlc::emulator;

namespace {

float sum(std::vector<float> a, std::vector<float> b, float accumulator, SumRules rules) {
  return sumOfProducts(a.data(), 1, b.data(), 1, unsigned(a.size()), accumulator, rules);
}

constexpr SumRules wide =
    sumRules(SumWidth::wide, MatrixElement::f16, MatrixElement::f16, MatrixElement::f32);
constexpr SumRules toHalf =
    sumRules(SumWidth::wide, MatrixElement::f16, MatrixElement::f16, MatrixElement::f16);
constexpr SumRules narrow =
    sumRules(SumWidth::narrow, MatrixElement::e4m3, MatrixElement::e4m3, MatrixElement::f32);

} // namespace

TEST_CASE("terms are cut 25 places below the largest exponent, towards zero") {
  CHECK(sum({1, 0x1p-12f}, {1, 0x1p-12f}, -1, wide) == 0x1p-24f);
  CHECK(sum({1, 0x1p-13f}, {1, 0x1p-12f}, -1, wide) == 0x1p-25f);
  CHECK(sum({1, 0x1p-13f}, {1, 0x1p-13f}, -1, wide) == 0);
  CHECK(sum({1, 0x1p-13f}, {1, -0x1p-13f}, -1, wide) == 0);
  CHECK(sum({1, 0x1.8p-13f}, {1, -0x1.8p-13f}, -1, wide) == -0x1p-25f); // 1.125 units
}

TEST_CASE("a product's exponent is that of its factors, also where it is 2 or more") {
  // 1.5 * 1.5 is 2.25, and counts as 1.
  CHECK(sum({1.5f, 0x1p-13f}, {1.5f, 0x1p-12f}, -2.25f, wide) == 0);
  CHECK(sum({1.5f, 0x1p-13f}, {1.5f, 0x1p-12f}, 0, wide) == 2.25f);
  CHECK(sum({1.5f, 1.5f, 0x1p-13f}, {1.5f, -1.5f, 0x1p-12f}, 0, wide) == 0x1p-25f);
}

TEST_CASE("the result is cut to its bits, not rounded") {
  CHECK(sum({1, 1}, {1, 0x1.8p-14f}, 0x1p10f, wide) == 0x1p10f + 1);
  CHECK(sum({1}, {-0x1.8p-13f}, 0x1p11f, wide) == 0x1.fffffcp10f);
  CHECK(sum({3, 1}, {0x1p6f, 0x1p-7f}, 0, narrow) == 192.0f); // 7 + 7 places and one
  CHECK(sum({1, 1}, {1, 0x1p-6f}, 0, narrow) == 1 + 0x1p-6f);
}

TEST_CASE("an f16 is rounded from the whole sum, not from what an f32 can hold of it") {
  const auto half = [](float last, float sign) {
    return sumToF16(sum({sign, sign, last * sign}, {1, 0x1p-11f, 0x1p-12f}, 0, toHalf));
  };
  for (uint16_t sign : {0, 0x8000}) {
    const float factor = sign ? -1 : 1;
    CHECK(half(0, factor) == (sign | 0x3C00));        // a tie, to even
    CHECK(half(0x1p-13f, factor) == (sign | 0x3C01)); // the 25th place
    CHECK(half(0x1p-14f, factor) == (sign | 0x3C00)); // cut as a term
  }
}

TEST_CASE("subnormal factors have the exponent of the smallest normal number") {
  // 2^-24 in f16 counts as 2^-14: products below 2^(-14 - 25) of it are cut.
  CHECK(sum({0x1p-24f, 0x1p-14f}, {1, 0x1p-14f}, 0, wide) == 0x1p-24f + 0x1p-28f);
  CHECK(sum({0x1p-24f, 0x1p-24f}, {1, 0x1p-15f}, 0, wide) == 0x1p-24f + 0x1p-39f);
  CHECK(sum({0x1p-24f, 0x1p-24f}, {1, 0x1p-16f}, 0, wide) == 0x1p-24f);
}

TEST_CASE("infinities and NaN") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(sum({infinity, 1}, {1, 1}, 0, wide) == infinity);
  CHECK(sum({1, 1}, {1, 1}, -infinity, wide) == -infinity);
  CHECK(std::isnan(sum({infinity, 1}, {0, 1}, 0, wide)));
  CHECK(std::isnan(sum({infinity, infinity}, {1, -1}, 0, wide)));
  CHECK(sum({0, 0}, {1, 0}, 0, wide) == 0);
}

namespace {

/// Operands of one kind: what the exponents are about, how far they reach, and how often an
/// element is a zero, a subnormal number, an infinity or a NaN.
struct Kind {
  std::string_view name;
  int centre = 0, reach = 3;
  unsigned special = 0; ///< one of so many; 0: none
  enum class Signs : uint8_t { random, positive, positiveLargest } signs = Signs::random;
};

constexpr Kind kinds[] = {
    {"near one", 0, 2},
    {"spread", 0, 14},
    {"far apart", 0, 100},
    {"tiny", -52, 10},
    {"subnormal products", -70, 8},
    {"huge", 52, 8},
    {"products beyond f32", 63, 2},
    {"zeros and specials", 0, 3, 8},
    {"specials far apart", 0, 100, 8},
    {"one sign", 0, 1, 0, Kind::Signs::positive},
    {"one sign, largest significands", 0, 0, 0, Kind::Signs::positiveLargest}, // above 2^31 units
};

struct Source {
  std::mt19937 random{Catch::rngSeed()};

  uint32_t below(uint32_t count) { return random() % count; }
  /// A float with the significand bits of `format`, rounded into it.
  uint32_t element(const Kind &kind, FloatFormat format) {
    if (kind.special && below(kind.special) == 0) {
      constexpr float specials[] = {0.0f, -0.0f, std::numeric_limits<float>::infinity(),
                                    -std::numeric_limits<float>::infinity(),
                                    std::numeric_limits<float>::quiet_NaN()};
      const uint32_t which = below(7);
      return which < 5 ? fromFloat(format, specials[which]) : which - 4; // the smallest subnormals
    }
    if (kind.signs == Kind::Signs::positiveLargest)
      return fromDouble(format, 2) - 1;
    const double significand = 1 + double(below(1 << 24)) / (1 << 24);
    const int exponent = kind.centre + int(below(uint32_t(2 * kind.reach + 1))) - kind.reach;
    const bool isNegative = kind.signs == Kind::Signs::random && below(2);
    return fromDouble(format, std::ldexp(isNegative ? -significand : significand, exponent),
                      {.rounding = Rounding::towardZero, .saturateFinite = true});
  }
};

struct Form {
  MatrixElement element;
  FloatFormat format;
  unsigned depth;
  SumWidth width = SumWidth::wide;
  MatrixElement accumulator = MatrixElement::f32;
};

constexpr Form forms[] = {
    {MatrixElement::f16, FloatFormat::f16, 16},
    {MatrixElement::f16, FloatFormat::f16, 16, SumWidth::wide, MatrixElement::f16},
    {MatrixElement::bf16, FloatFormat::bf16, 16},
    {MatrixElement::bf16, FloatFormat::bf16, 8},
    {MatrixElement::tf32, FloatFormat::tf32, 8},
    {MatrixElement::tf32, FloatFormat::tf32, 4},
    {MatrixElement::e4m3, FloatFormat::e4m3, 32, SumWidth::narrow},
    {MatrixElement::e5m2, FloatFormat::e5m2, 32, SumWidth::narrow},
};

struct Block {
  RowPanel a[2];
  ColumnPanel b[2];
  SumPair sums;
};

/// A register pair of random operands, by addProducts in the form of `vectors` and by sumOfProducts.
template <class Vectors>
void checkBlock(const Form &form, const Kind &kind, Source &source, Vectors vectors) {
  RawPanel rawA[2], rawB[2];
  const auto fill = [&](RawPanel &raw) {
    for (unsigned k = 0; k < form.depth; ++k)
      for (unsigned line = 0; line < 4; ++line) {
        const uint32_t bits = source.element(kind, form.format);
        if (elementBits(form.element) == 8)
          raw.set(line, k, uint8_t(bits));
        else if (elementBits(form.element) == 16)
          raw.set(line, k, uint16_t(bits));
        else
          raw.set(line, k, bits);
      }
  };
  Block block;
  Kind ofSum = kind; // about as large as the products, so that they may cancel
  ofSum.centre = 2 * kind.centre;
  for (unsigned i = 0; i < 2; ++i) {
    fill(rawA[i]);
    fill(rawB[i]);
    for (unsigned odd = 0; odd < 2; ++odd)
      for (unsigned lane = 0; lane < sumLanes; ++lane)
        block.sums[i][odd][lane] = toFloat(FloatFormat::f32, source.element(ofSum, FloatFormat::f32));
  }
  const SumRules rules = sumRules(form.width, form.element, form.element, form.accumulator);
  const Block before = block;
  vectors([&]() TLC_LAMBDA_WITH_CALLER {
    for (unsigned i = 0; i < 2; ++i) {
      decodePanel(rawA[i], form.element, form.depth, rules.leastExponentA, 1, block.a[i]);
      decodePanel(rawB[i], form.element, form.depth, rules.leastExponentB, block.b[i]);
    }
    addProducts(block.a, block.b, form.depth, rules, block.sums);
  });
  for (unsigned upper = 0; upper < 2; ++upper)
    for (unsigned odd = 0; odd < 2; ++odd)
      for (unsigned lane = 0; lane < sumLanes; ++lane) {
        const float expected = sumOfProducts(&block.a[upper].values[0][lane], sumLanes,
                                             &block.b[odd].values[0][lane % sumColumns], sumColumns,
                                             form.depth, before.sums[upper][odd][lane], rules);
        const float actual = block.sums[upper][odd][lane];
        if (floatResult(actual) != floatResult(expected))
          FAIL(toString(form.element)
               << ", depth " << form.depth << ", " << kind.name << ", half " << upper << ", odd " << odd
               << ", lane " << lane << ": " << actual << " instead of " << expected);
      }
}

template <class Vectors> void checkBlocks(Vectors vectors) {
  INFO("seed " << Catch::rngSeed());
  Source source;
  for (const Form &form : forms)
    for (const Kind &kind : kinds)
      for (unsigned times = 0; times < 40; ++times)
        checkBlock(form, kind, source, vectors);
}

} // namespace

TEST_CASE("vectors of every width that the host has give what the plain form gives, to the bit") {
  checkBlocks([](const auto &f) { f(); });
#if defined(__x86_64__)
  if (hostHas(HostVectors::bits256))
    checkBlocks([](const auto &f) { runOnWideVectors(f); });
  if (hostHas(HostVectors::bits512))
    checkBlocks([](const auto &f) { runOnWidestVectors(f); });
#endif
}

TEST_CASE("an operand that is negated changes signs only") {
  RawPanel raw;
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned line = 0; line < 4; ++line)
      raw.set(line, k, floatToBf16(float(k) - float(line)));
  RowPanel plain, negated;
  decodePanel(raw, MatrixElement::bf16, 16, -126, 1, plain);
  decodePanel(raw, MatrixElement::bf16, 16, -126, -1, negated);
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned lane = 0; lane < sumLanes; ++lane) {
      CHECK(plain.values[k][lane] == float(k) - float(lane / sumColumns));
      CHECK(negated.values[k][lane] == -plain.values[k][lane]);
      CHECK(negated.exponents[k][lane] == plain.exponents[k][lane]);
    }
}
