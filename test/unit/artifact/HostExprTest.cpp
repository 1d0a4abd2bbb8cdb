// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values and overflow of host expressions; names of element types.
#include "runtime/artifact/Artifact.h"

#include <catch2/catch.hpp>
#include <limits>
#include <random>

using namespace tlc;
using Op = HostExpr::Op;

namespace {

constexpr int64_t smallest = std::numeric_limits<int64_t>::min();
constexpr int64_t largest = std::numeric_limits<int64_t>::max();

std::optional<int64_t> evaluate(Op op, int64_t lhs, int64_t rhs) {
  return HostExpr::apply(op, HostExpr::constant(lhs), HostExpr::constant(rhs)).evaluate({}, 0);
}

} // namespace

TEST_CASE("element types have a size and a name that parses back", "[artifact]") {
  for (ElementType type : allElementTypes) {
    CHECK(bytesOf(type, elementsPerUnit(type)) == int64_t(isPacked(type) ? 1 : sizeInBytes(type)));
    CHECK(parseElementType(toString(type)) == type);
  }
  CHECK(sizeInBytes(ElementType::bf16) == 2);
  CHECK(parseElementType("float") == std::nullopt);
  CHECK(parseElementType("") == std::nullopt);
}

TEST_CASE("host expressions read constants, dimensions and the number of multiprocessors", "[artifact]") {
  CHECK(HostExpr::constant(-7).evaluate({}, 132) == -7);
  CHECK(HostExpr::dimension(1).evaluate({3, 5}, 132) == 5);
  CHECK(HostExpr::multiprocessors().evaluate({}, 132) == 132);
  HostExpr tiles = HostExpr::apply(Op::ceilDiv, HostExpr::dimension(0), HostExpr::constant(128));
  HostExpr grid = HostExpr::apply(Op::min, tiles, HostExpr::multiprocessors());
  CHECK(grid.evaluate({1000}, 132) == 8);
  CHECK(grid.evaluate({100000}, 132) == 132);
  CHECK(grid.evaluate({0}, 132) == 0);
}

TEST_CASE("division and remainder round towards minus infinity", "[artifact]") {
  std::mt19937_64 random(Catch::rngSeed());
  std::uniform_int_distribution<int64_t> values(-50, 50);
  for (int i = 0; i < 1000; ++i) {
    int64_t a = values(random), b = values(random);
    if (b == 0)
      continue;
    int64_t floor = *evaluate(Op::floorDiv, a, b), ceil = *evaluate(Op::ceilDiv, a, b);
    int64_t remainder = *evaluate(Op::remainder, a, b);
    INFO(a << " and " << b);
    CHECK(floor * b + remainder == a);
    CHECK(std::abs(remainder) < std::abs(b));
    CHECK((remainder == 0 || (remainder < 0) == (b < 0)));
    CHECK(ceil == floor + (remainder != 0));
  }
}

TEST_CASE("overflow and division by zero give nothing", "[artifact]") {
  CHECK(evaluate(Op::add, largest, 1) == std::nullopt);
  CHECK(evaluate(Op::subtract, smallest, 1) == std::nullopt);
  CHECK(evaluate(Op::multiply, largest, 2) == std::nullopt);
  CHECK(evaluate(Op::floorDiv, 1, 0) == std::nullopt);
  CHECK(evaluate(Op::ceilDiv, 1, 0) == std::nullopt);
  CHECK(evaluate(Op::remainder, 1, 0) == std::nullopt);
  CHECK(evaluate(Op::floorDiv, smallest, -1) == std::nullopt);
  CHECK(evaluate(Op::ceilDiv, smallest, -1) == std::nullopt);
  // The extremes that do fit.
  CHECK(evaluate(Op::remainder, smallest, -1) == 0);
  CHECK(evaluate(Op::remainder, smallest, 3) == 1);
  CHECK(evaluate(Op::ceilDiv, largest, 1) == largest);
  CHECK(evaluate(Op::add, largest, smallest) == -1);
}

TEST_CASE("malformed expressions give nothing", "[artifact]") {
  CHECK(HostExpr{}.evaluate({}, 1) == std::nullopt);
  CHECK(HostExpr{{{Op::add, 0}}}.evaluate({}, 1) == std::nullopt);
  CHECK(HostExpr{{{Op::constant, 1}, {Op::constant, 2}}}.evaluate({}, 1) == std::nullopt);
  CHECK(HostExpr::dimension(2).evaluate({1, 2}, 1) == std::nullopt);
  CHECK(HostExpr::dimension(-1).evaluate({1, 2}, 1) == std::nullopt);
  HostExpr deep;
  for (size_t i = 0; i <= HostExpr::maxDepth; ++i)
    deep.steps.push_back({Op::constant, 1});
  for (size_t i = 0; i < HostExpr::maxDepth; ++i)
    deep.steps.push_back({Op::add, 0});
  CHECK(deep.evaluate({}, 1) == std::nullopt);
  deep.steps.erase(deep.steps.begin());
  deep.steps.pop_back();
  CHECK(deep.evaluate({}, 1) == int64_t(HostExpr::maxDepth));
}
