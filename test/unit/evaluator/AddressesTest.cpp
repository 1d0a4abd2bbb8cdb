// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors by a table of addresses.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

namespace {
using Numbers = std::vector<double>;

Tensor table(std::vector<Tensor> members) {
  const auto count = int64_t(members.size());
  return {ElementType::i64, {count}, std::vector<Element>(members.size()), std::move(members)};
}

/// Y = 2 rows of 3 of member `number` of three, of which the first is missing. The second is 2 x 3, the third
/// 3 x 4.
Result<Report> read(int64_t number, int64_t rows, int64_t stride, Tensor &y) {
  Arguments arguments = {
      {table({Tensor(), given(f32, {2, 3}, counting(6)), given(f32, {3, 4}, counting(12))}),
       given(i32, {3}, {double(number), double(rows), double(stride)}), unwritten(f32, {2, 3})},
      {}};
  Result<Report> report = tryProgram(arguments, [](Scope &k) {
    Addresses X = k.addresses("X", f32, 3);
    Global At = k.input("At", i32, {3}), Y = k.output("Y", f32, {2, 3});
    Fragment x = k.fragment(f32, {2, 3});
    copy(X.of(At.read({0}), {At.read({1}), 3}, {At.read({2})}).tile({0, 0}, {2, 3}).fill(9), x);
    copy(x, Y.tile({0, 0}, {2, 3}));
  });
  y = arguments.tensors.back();
  return report;
}

std::string errorOfRead(int64_t number, int64_t rows, int64_t stride) {
  Tensor y;
  Result<Report> report = read(number, rows, stride, y);
  return report ? "" : report.error().message;
}
} // namespace

TEST_CASE("a member has the extents that are said", "[evaluator][unit]") {
  Tensor y;
  REQUIRE(read(1, 2, 3, y));
  CHECK(exactValues(y) == counting(6));
  REQUIRE(read(2, 2, 4, y)); // the first columns of the first rows
  CHECK(exactValues(y) == Numbers{0, 1, 2, 4, 5, 6});
  REQUIRE(read(2, 2, 8, y)); // every second row
  CHECK(exactValues(y) == Numbers{0, 1, 2, 8, 9, 10});
  REQUIRE(read(2, 2, 0, y)); // the first one, again and again
  CHECK(exactValues(y) == Numbers{0, 1, 2, 0, 1, 2});
  REQUIRE(read(2, 1, 5, y)); // one row has no stride
  CHECK(exactValues(y) == Numbers{0, 1, 2, 9, 9, 9});
}

TEST_CASE("what is said of a member is true", "[evaluator][unit]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(errorOfRead(0, 2, 3), Contains("expected a number of a member of 'X' that there is"));
  CHECK_THAT(errorOfRead(3, 2, 3), Contains("expected a number of a member of 'X' that there is"));
  CHECK_THAT(errorOfRead(-1, 2, 3), Contains("expected a number of a member of 'X' that there is"));
  CHECK_THAT(errorOfRead(1, 3, 3), Contains("expected at most the extents 2x3 of 'X.of(1)', but got 3x3"));
  CHECK_THAT(errorOfRead(2, 2, 3),
             Contains("expected stride 4, or a multiple of it, along axis 0 of 'X.of(2)', but got 3"));
  CHECK_THAT(
      errorOfRead(2, 2, 12),
      Contains(
          "expected 2 elements with stride 12 along axis 0 of 'X.of(2)' to be among its 3 with stride 4"));
  CHECK_THAT(errorOfRead(2, 2, -4), Contains("expected 2 elements with stride -4 along axis 0 of 'X.of(2)'"));
}

TEST_CASE("rows of members may be apart", "[evaluator][unit]") {
  auto sums = [](Tensor x, Tensor y) {
    Arguments arguments = {{table({std::move(x)}), table({std::move(y)})}, {}};
    Result<Report> report = tryProgram(arguments, [](Scope &k) {
      Addresses X = k.addresses("X", f32, 1, {.axes = 3}),
                Y = k.addresses("Y", f32, 1, {.axes = 3, .use = TensorUse::inout});
      Fragment x = k.fragment(f32, {1, 2, 3});
      copy(X.of(0, {2, 2, 3}, {20, 4}).tile({1, 0, 0}, {1, 2, 3}), x);
      atomicAdd(x, Y.of(0, {2, 2, 3}, {6, 3}).tile({1, 0, 0}, {1, 2, 3}));
    });
    return report ? exactValues(arguments.tensors[1].members[0]) : Numbers{};
  };
  auto apart = [](std::vector<int64_t> strides) {
    Tensor tensor = given(f32, {2, 2, 3}, counting(12));
    tensor.strides = std::move(strides);
    return tensor;
  };
  const Tensor y = given(f32, {2, 2, 3}, Numbers(12, 1));
  CHECK(sums(apart({20, 4, 1}), y) == Numbers{1, 1, 1, 1, 1, 1, 7, 8, 9, 10, 11, 12});
  CHECK(sums(apart({20, 5, 1}), y).empty());
  CHECK(sums(apart({}), y).empty());
}

TEST_CASE("strides of members keep their elements apart", "[evaluator][unit]") {
  auto errorWith = [](std::vector<int64_t> extents, std::vector<int64_t> strides) {
    Tensor member = given(f32, extents, Numbers(size_t(extents[0] * extents[1]), 1));
    member.strides = std::move(strides);
    Arguments arguments = {{table({member})}, {}};
    Result<Report> report = tryProgram(arguments, [](Scope &k) {
      k.addresses("X", f32, k.dim("n"));
      k.grid(1);
    });
    return report ? "" : report.error().message;
  };
  CHECK(errorWith({2, 3}, {3, 1}).empty());
  CHECK(errorWith({2, 0}, {0, 1}).empty());
  const std::string wrong =
      "expected strides of member 0 of 'X' that keep elements apart, the last one 1, but got ";
  CHECK(errorWith({2, 3}, {2, 1}) == wrong + "2x1 for the extents 2x3");
  CHECK(errorWith({2, 3}, {6, 2}) == wrong + "6x2 for the extents 2x3");
  CHECK(errorWith({2, 3}, {1}) == wrong + "1 for the extents 2x3");
}

TEST_CASE("members are written, and come back", "[evaluator][unit]") {
  Arguments arguments = {{table({unwritten(f32, {2}), given(f32, {2}, {5, 6})})}, {}};
  Result<Report> report = tryProgram(arguments, [](Scope &k) {
    Addresses Y = k.addresses("Y", f32, k.dim("n"), {.axes = 1, .use = TensorUse::inout});
    auto [g] = k.grid(2);
    k.when(g == 0, [&] { copy(k.fragment(f32, {2}, 7), Y.of(0, {2}, {}).tile({0}, {2})); });
    k.when(g == 1, [&] { atomicAdd(k.fragment(f32, {2}, 1), Y.of(1, {2}, {}).tile({0}, {2})); });
  });
  REQUIRE(report);
  CHECK(exactValues(arguments.tensors[0].members[0]) == Numbers{7, 7});
  CHECK(exactValues(arguments.tensors[0].members[1]) == Numbers{6, 7});
}

TEST_CASE("blocks that write one member differently", "[evaluator][unit]") {
  CHECK(errorOf({{table({unwritten(f32, {2})})}, {}}, [](Scope &k) {
          Addresses Y = k.addresses("Y", f32, 1, {.axes = 1, .use = TensorUse::output});
          auto [g] = k.grid(2);
          Fragment y = k.fragment(i32, {2});
          y = y + g.to(i32);
          copy(y.to(f32), Y.of(0, {2}, {}).tile({0}, {2}));
        }).find("of 'Y.of(0)'") != std::string::npos);
}

TEST_CASE("a table has a tensor for each address, of its type and axes", "[evaluator][unit]") {
  auto errorWith = [](std::vector<Tensor> members) {
    Arguments arguments = {{table(std::move(members))}, {}};
    Result<Report> report = tryProgram(arguments, [](Scope &k) {
      k.addresses("X", f32, k.dim("n"));
      k.grid(1);
    });
    return report ? "" : report.error().message;
  };
  CHECK(errorWith({given(f32, {1, 2}, {1, 2})}).empty());
  const std::string other =
      "expected member 0 of 'X' to have the program's element type and number of axes, and "
      "an element for each position";
  CHECK(errorWith({given(f32, {2}, {1, 2})}) == other);
  CHECK(errorWith({given(f16, {1, 2}, {1, 2})}) == other);
  Arguments none = {{{ElementType::i64, {2}, std::vector<Element>(2)}}, {}};
  Result<Report> report = tryProgram(none, [](Scope &k) {
    k.addresses("X", f32, k.dim("n"));
    k.grid(1);
  });
  REQUIRE(!report);
  CHECK(report.error().message == "expected a tensor for each of the 2 addresses of 'X', but got 0");
}
