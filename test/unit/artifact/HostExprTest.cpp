// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values and overflow of host expressions; names of element types.
#include "runtime/artifact/LinearExtent.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace tlc;
using Op = HostExpr::Op;

namespace {

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

TEST_CASE("quotients and remainders are truncated, ceilDiv rounds up", "[artifact]") {
  for (int64_t a = -130; a <= 130; ++a)
    for (int64_t b = -65; b <= 65; ++b) {
      INFO(a << " and " << b);
      CHECK(evaluate(Op::divide, a, b) == (b == 0 ? std::nullopt : std::optional(a / b)));
      CHECK(evaluate(Op::remainder, a, b) == (b == 0 ? std::nullopt : std::optional(a % b)));
      auto up = [&] { return int64_t(std::ceil(double(a) / double(b))); };
      CHECK(evaluate(Op::ceilDiv, a, b) == (b == 0 ? std::nullopt : std::optional(up())));
    }
}

TEST_CASE("numbers on the way have 32 bits, as on the device", "[artifact]") {
  constexpr int64_t most = std::numeric_limits<int32_t>::max(), least = std::numeric_limits<int32_t>::min();
  CHECK(evaluate(Op::add, most, 1) == most + 1); // its user refuses it
  CHECK(evaluate(Op::multiply, least, 2) == 2 * least);
  for (Op op :
       {Op::add, Op::subtract, Op::multiply, Op::divide, Op::ceilDiv, Op::remainder, Op::min, Op::max})
    CHECK(evaluate(op, most + 1, 1) == std::nullopt);
  CHECK(evaluate(Op::min, 1, least - 1) == std::nullopt);
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

TEST_CASE("linear extents are told from others", "[artifact]") {
  using enum HostExpr::Op;
  const HostExpr m = HostExpr::dimension(0), n = HostExpr::dimension(1);
  const auto number = [](int64_t value) { return HostExpr::constant(value); };
  const auto textOf = [](const HostExpr &expr) {
    std::optional<LinearExtent> linear = linearExtentOf(expr);
    return linear ? std::to_string(linear->dimension) + ": " + linear->text("n") : "none";
  };
  CHECK(textOf(n) == "1: n");
  CHECK(textOf(HostExpr::apply(add, n, number(1))) == "1: n + 1");
  CHECK(textOf(HostExpr::apply(subtract, n, number(2))) == "1: n - 2");
  CHECK(textOf(HostExpr::apply(subtract, number(9), n)) == "1: -1 n + 9");
  CHECK(textOf(HostExpr::apply(add, HostExpr::apply(multiply, number(3), n), n)) == "1: 4 n");
  CHECK(textOf(HostExpr::apply(multiply, HostExpr::apply(add, n, number(1)), number(2))) == "1: 2 n + 2");
  CHECK(textOf(HostExpr::apply(add, m, n)) == "none");
  CHECK(textOf(HostExpr::apply(multiply, n, n)) == "none");
  CHECK(textOf(HostExpr::apply(subtract, n, n)) == "none");
  CHECK(textOf(HostExpr::apply(ceilDiv, n, number(2))) == "none");
  CHECK(textOf(number(3)) == "none");
  CHECK(textOf(HostExpr{}) == "none");
  CHECK(textOf(HostExpr::apply(multiply, HostExpr::apply(multiply, n, number(maxExtent)),
                               number(maxExtent))) == "none");
  CHECK(LinearExtent{0, 2, 1}.solve(9) == 4);
  CHECK(LinearExtent{0, 2, 1}.solve(8) == std::nullopt);
  CHECK(LinearExtent{0, 1, 1}.solve(0) == std::nullopt);
  CHECK(LinearExtent{0, -1, 9}.solve(2) == 7);
  CHECK(LinearExtent{0, -1, 1}.solve(std::numeric_limits<int64_t>::min() + 1) == std::nullopt);
  CHECK(LinearExtent{0, 1, 1}.solve(std::numeric_limits<int64_t>::max()) == std::nullopt);
}
