// SPDX-License-Identifier: Apache-2.0
/// \file
/// The references, and how far a result may be from them.
#include "kernels/reference/Reference.h"

#include "kernels/Tolerance.h"
#include "kernels/reference/MoeExchange.h"
#include "kernels/reference/Philox.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tlc;
using namespace tlc::kernels;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

std::vector<int64_t> firstElements(int64_t count) {
  std::vector<int64_t> elements(count);
  std::iota(elements.begin(), elements.end(), 0);
  return elements;
}
} // namespace

TEST_CASE("the reference product knows all layouts", "[kernels][unit]") {
  std::vector<double> a = {1, 2, 3, 4, 5, 6};                    // 2 x 3
  std::vector<double> nn = {1, 0, 2, 0, 1, 3, 4, 0, 5, 1, 1, 0}; // 3 x 4
  std::vector<double> tn = {1, 1, 5, 0, 3, 1, 2, 4, 1, 0, 0, 0}; // 4 x 3
  std::vector<double> expected = {18, 9, 13, 0, 39, 21, 34, 0};
  CHECK(referenceGemm(GemmLayout::nn, 2, 4, 3, a, nn, firstElements(8)) == expected);
  CHECK(referenceGemm(GemmLayout::tn, 2, 4, 3, a, tn, firstElements(8)) == expected);
  CHECK(referenceGemm(GemmLayout::tn, 2, 4, 3, a, tn, std::vector<int64_t>{6, 0}) ==
        std::vector<double>{34, 18});
  std::vector<double> transposed = {1, 4, 2, 5, 3, 6}; // 3 x 2
  CHECK(referenceGemm(GemmLayout::nt, 2, 4, 3, transposed, nn, firstElements(8)) == expected);
  CHECK(referenceGemm(GemmLayout::tt, 2, 4, 3, transposed, tn, firstElements(8)) == expected);
}

TEST_CASE("the reference of a batch has one product after the other", "[kernels][unit]") {
  std::vector<double> a = {1, 2, 3, 4}, b = {5, 6, 7, 8}; // each of 2 x 1 and 1 x 2, two of them
  CHECK(referenceGemm(GemmLayout::nn, 2, 2, 1, a, b, firstElements(8)) ==
        std::vector<double>{5, 6, 10, 12, 21, 24, 28, 32});
}

TEST_CASE("a product of no terms is zero", "[kernels][unit]") {
  CHECK(referenceGemm(GemmLayout::tn, 1, 2, 0, {}, {}, firstElements(2)) == std::vector<double>{0, 0});
}

TEST_CASE("the reference softmax sums to one and gives zeros for a row of -inf", "[kernels][unit]") {
  std::vector<double> x = {1000, 1001, 999, -inf, -inf, -inf, 0, -inf, 0};
  std::vector<double> y = referenceSoftmax(3, x, firstElements(9));
  CHECK(y[0] + y[1] + y[2] == Approx(1));
  CHECK(y[1] / y[0] == Approx(std::exp(1.0)));
  CHECK(std::vector<double>(y.begin() + 3, y.end()) == std::vector<double>{0, 0, 0, 0.5, 0, 0.5});
}

TEST_CASE("errors are relative, with a floor, and no number is infinitely wrong", "[kernels][unit]") {
  Tolerance tolerance{.limit = 0.1, .floor = 2};
  CHECK(errorOf(11, 10, tolerance) == Approx(0.1));
  CHECK(errorOf(0.5, 0.1, tolerance) == Approx(0.2));
  CHECK(errorOf(notANumber, 1, tolerance) == inf);
  CHECK(errorOf(inf, 1, tolerance) == inf);
  CHECK(errorOf(notANumber, notANumber, tolerance) == 0);
  CHECK(errorOf(-inf, -inf, tolerance) == 0);
}

TEST_CASE("rounding is half of the distance between neighbours of one", "[kernels][unit]") {
  CHECK(roundingError(ElementType::bf16) == 1.0 / 256);
  CHECK(roundingError(ElementType::f16) == 1.0 / 2048);
  CHECK(roundingError(ElementType::f32) == std::numeric_limits<float>::epsilon() / 2);
  CHECK(roundingError(ElementType::f64) == std::numeric_limits<double>::epsilon() / 2);
  CHECK(roundingError(ElementType::i32) == 0);
}

TEST_CASE("the reference of experts keeps the order of ranks, tokens and slots", "[kernels][unit]") {
  // Ranks 0 and 1 have experts 0, 1 and 2; 3 and -1 are none. Rank 0 has no room for a fourth row.
  const MoeExtents extents = {.tokens = 2, .hidden = 1, .experts = 3, .topk = 2, .capacity = 3, .ranks = 2};
  const std::vector<std::vector<double>> experts = {{1, 0, 2, 1}, {0, 3, 1, -1}};
  const MoeRouting routing = referenceRouting(extents, experts);
  CHECK(routing.ends == std::vector<std::vector<double>>{{2, 3}, {1, 1}});
  CHECK(routing.counts == std::vector<double>{2, 3, 1});
  CHECK(routing.places ==
        std::vector<std::vector<double>>{{0, 2, 0, 0, 1, 0, -1, -1}, {0, 1, -1, -1, -1, -1, -1, -1}});
  std::vector<std::pair<int64_t, int64_t>> sources;
  for (const MoeRouting::Source &source : routing.rows[0])
    sources.emplace_back(source.rank, source.token);
  CHECK(sources == std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {1, 0}, {0, 0}});
  const std::vector<std::vector<double>> rows = {{1, 10, 100}, {1000}};
  CHECK(referenceCombine(extents, rows, routing.places[0], std::vector<double>{2, 3, 4, 5},
                         firstElements(2)) == std::vector<double>{203, 4000});
}

TEST_CASE("the reference sum adds tensors element by element", "[kernels][unit]") {
  std::vector<std::vector<double>> terms = {{1, 2, 3}, {10, 20, 30}, {100, 200, 300}};
  std::vector<int64_t> elements = {2, 0};
  CHECK(referenceSum(terms, elements) == std::vector<double>{333, 111});
}

TEST_CASE("Philox gives the words of its authors' test vectors", "[kernels][unit]") {
  using Words = std::array<uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0}, 7) == Words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48});
  CHECK(philox({0, 0, 0, 0}, {0, 0}, 10) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t all = 0xffffffff;
  CHECK(philox({all, all, all, all}, {all, all}, 10) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("bits of dropout differ from place to place, and depend on seed and offset", "[kernels][unit]") {
  const PhiloxState state = {.seed = 1, .offset = 2};
  std::vector<std::vector<uint32_t>> rows;
  int64_t low = 0, count = 0;
  for (uint32_t matrix = 0; matrix < 2; ++matrix)
    for (uint32_t query = 0; query < 80; ++query) {
      rows.emplace_back();
      for (uint32_t key = 0; key < 80; ++key, ++count) {
        rows.back().push_back(state.bitsAt(matrix, query, key));
        low += rows.back().back() < 0x4000;
      }
      auto distinct = rows.back();
      std::ranges::sort(distinct);
      const auto repeated = std::ranges::unique(distinct);
      CHECK(repeated.size() < 4);
    }
  CHECK(double(low) / double(count) == Approx(0.25).margin(0.02));
  std::ranges::sort(rows);
  CHECK(std::ranges::adjacent_find(rows) == rows.end());
  for (const PhiloxState &other :
       {PhiloxState{2, 2}, {1, 3}, {1 + (int64_t(1) << 32), 2}, {1, 2 + (int64_t(1) << 32)}})
    CHECK(other.bitsAt(0, 0, 0) != state.bitsAt(0, 0, 0));
}
