// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sums of matrix instructions: what is cut, and where.
#include "runtime/emulator/exec/MatrixSum.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace tlc::emulator;

namespace {

float sum(std::vector<float> a, std::vector<float> b, float accumulator, SumRules rules) {
  return sumOfProducts(a.data(), 1, b.data(), 1, unsigned(a.size()), accumulator, rules);
}

constexpr SumRules wide =
    sumRules(SumWidth::wide, MatrixElement::f16, MatrixElement::f16, MatrixElement::f32);
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

TEST_CASE("the vectors give what the plain form gives, whatever the exponents") {
  std::mt19937 random(Catch::rngSeed());
  INFO("seed " << Catch::rngSeed());
  for (int reach : {3, 30, 120})
    for (SumRules rules : {wide, narrow}) {
      RowPanel a;
      ColumnPanel b;
      Columns accumulators[sumRows], results[sumRows];
      const auto value = [&] {
        if (random() % 8 == 0)
          return 0.0f;
        const float significand = 1 + float(random() % 128) / 128;
        return std::ldexp(random() & 1 ? significand : -significand, int(random() % (2 * reach + 1)) - reach);
      };
      rules.leastExponentA = rules.leastExponentB = -126;
      for (unsigned k = 0; k < 16; ++k) {
        for (unsigned row = 0; row < sumRows; ++row)
          setSumElement(a, row, k, value(), -126);
        for (unsigned column = 0; column < sumColumns; ++column)
          setSumElement(b, column, k, value(), -126);
      }
      for (unsigned row = 0; row < sumRows; ++row)
        for (unsigned column = 0; column < sumColumns; ++column)
          accumulators[row][column] = value();
      sumPanels(a, b, 16, accumulators, rules, results);
      for (unsigned row = 0; row < sumRows; ++row)
        for (unsigned column = 0; column < sumColumns; ++column) {
          INFO("row " << row << ", column " << column << ", exponents up to " << reach);
          CHECK(results[row][column] == sumOfProducts(&a.values[0][row], sumRows, &b.values[0][column],
                                                      sumColumns, 16, accumulators[row][column], rules));
        }
    }
}
