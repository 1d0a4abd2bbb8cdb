// SPDX-License-Identifier: Apache-2.0
/// \file
/// Boxes as copies of rows.
#include "runtime/device/PlanTransfers.h"

#include "test/Expect.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {

constexpr uintptr_t fromAddress = 0x10000, toAddress = 0x20000;

/// Tensors of f32 and a transfer of a box that begins at these places.
struct BoxTransfer {
  std::vector<int64_t> extents, fromShape, fromStrides, fromPosition, toShape, toStrides, toPosition;

  Result<std::vector<PlannedTransfer>> plan() const {
    auto constants = [](const std::vector<int64_t> &numbers) {
      std::vector<HostExpr> all;
      for (int64_t number : numbers)
        all.push_back(HostExpr::constant(number));
      return all;
    };
    artifact.tensors = {{.name = "X"}, {.name = "Y", .access = Access::output}};
    variant.transfers = {{.name = "box",
                          .rounds = HostExpr::constant(1),
                          .copies = {{.from = {.tensor = 0, .position = constants(fromPosition)},
                                      .to = {.tensor = 1, .position = constants(toPosition)},
                                      .extents = constants(extents)}}}};
    LaunchArguments arguments;
    arguments.tensors = {{reinterpret_cast<void *>(fromAddress), ElementType::f32, fromShape, fromStrides},
                         {reinterpret_cast<void *>(toAddress), ElementType::f32, toShape, toStrides}};
    return planTransfers(artifact, variant, arguments, {}, 1, {});
  }
  std::vector<PlannedCopy> copies() const { return expectValue(plan())[0].rounds[0].copies; }

  mutable Artifact artifact = {};
  mutable Variant variant = {};
};

uintptr_t fromOf(const PlannedCopy &copy) { return reinterpret_cast<uintptr_t>(copy.from) - fromAddress; }
uintptr_t toOf(const PlannedCopy &copy) { return reinterpret_cast<uintptr_t>(copy.to) - toAddress; }

} // namespace

TEST_CASE("a box of whole contiguous rows is one row", "[device][transfers]") {
  const std::vector<PlannedCopy> copies = BoxTransfer{.extents = {1, 3, 5, 7},
                                                      .fromShape = {2, 3, 5, 7},
                                                      .fromStrides = {105, 35, 7, 1},
                                                      .fromPosition = {1, 0, 0, 0},
                                                      .toShape = {1, 9, 5, 7},
                                                      .toStrides = {315, 35, 7, 1},
                                                      .toPosition = {0, 6, 0, 0}}
                                              .copies();
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].bytes == 3 * 5 * 7 * 4);
  CHECK(copies[0].rows * copies[0].slices == 1);
  CHECK(fromOf(copies[0]) == 105 * 4);
  CHECK(toOf(copies[0]) == 6 * 35 * 4);
}

TEST_CASE("axes with equal distances are rows, and further ones slices", "[device][transfers]") {
  const std::vector<PlannedCopy> copies = BoxTransfer{.extents = {2, 3, 4},
                                                      .fromShape = {2, 3, 10},
                                                      .fromStrides = {30, 10, 1},
                                                      .fromPosition = {0, 0, 5},
                                                      .toShape = {2, 9, 8},
                                                      .toStrides = {72, 8, 1},
                                                      .toPosition = {0, 6, 4}}
                                              .copies();
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].bytes == 16);
  CHECK(copies[0].rows == 3);
  CHECK(copies[0].fromPitch == 40);
  CHECK(copies[0].toPitch == 32);
  CHECK(copies[0].slices == 2);
  CHECK(copies[0].fromRows == 3);
  CHECK(copies[0].toRows == 9);
}

TEST_CASE("where slices are no whole number of rows apart, each is a copy", "[device][transfers]") {
  BoxTransfer box{.extents = {2, 3, 4},
                  .fromShape = {2, 3, 4},
                  .fromStrides = {33, 10, 1},
                  .fromPosition = {0, 0, 0},
                  .toShape = {2, 3, 8},
                  .toStrides = {24, 8, 1},
                  .toPosition = {0, 0, 0}};
  const std::vector<PlannedCopy> copies = box.copies();
  REQUIRE(copies.size() == 2);
  CHECK(copies[0].rows == 3);
  CHECK(fromOf(copies[1]) == 33 * 4);
  CHECK(toOf(copies[1]) == 24 * 4);
  box.extents[0] = box.fromShape[0] = box.toShape[0] = 65;
  CHECK(box.plan().error().message == "transfer 'box' round 0: expected boxes that take at most 64 copies of "
                                      "rows that are equally far apart, "
                                      "but got more; pass tensors whose outer strides are multiples of the "
                                      "inner ones, or copy fewer axes in a "
                                      "round");
}

TEST_CASE("rows that a tensor repeats are copied one by one", "[device][transfers]") {
  const std::vector<PlannedCopy> copies = BoxTransfer{.extents = {3, 4},
                                                      .fromShape = {3, 4},
                                                      .fromStrides = {0, 1},
                                                      .fromPosition = {0, 0},
                                                      .toShape = {3, 4},
                                                      .toStrides = {4, 1},
                                                      .toPosition = {0, 0}}
                                              .copies();
  REQUIRE(copies.size() == 3);
  CHECK(fromOf(copies[2]) == 0);
  CHECK(toOf(copies[2]) == 32);
}

TEST_CASE("an empty box is no copy", "[device][transfers]") {
  CHECK(BoxTransfer{.extents = {0, 4},
                    .fromShape = {0, 4},
                    .fromStrides = {4, 1},
                    .fromPosition = {0, 0},
                    .toShape = {3, 4},
                    .toStrides = {4, 1},
                    .toPosition = {0, 0}}
            .copies()
            .empty());
}

TEST_CASE("numbers that no position can be are told", "[device][transfers]") {
  BoxTransfer box{.extents = {4},
                  .fromShape = {4},
                  .fromStrides = {1},
                  .fromPosition = {-1},
                  .toShape = {4},
                  .toStrides = {1},
                  .toPosition = {0}};
  CHECK(box.plan().error().message ==
        "transfer 'box' round 0: expected the position along axis 0 of 'X' from 0 to 2147483647, but got -1");
  box.fromPosition = {0};
  box.extents = {int64_t(1) << 31};
  CHECK(box.plan().error().message ==
        "transfer 'box' round 0: expected the extent along axis 0 of 'Y' from 0 to 2147483647, but got "
        "2147483648");
}

TEST_CASE("values of counts are numbers of 32 bits", "[device][transfers]") {
  const std::vector zero = {HostExpr::constant(0)};
  Artifact artifact;
  artifact.tensors = {{.name = "X"}, {.name = "count", .element = ElementType::i32, .symmetric = true}};
  Variant variant;
  variant.transfers = {{.name = "some",
                        .rounds = HostExpr::constant(1),
                        .copies = {{.from = {0, {}, zero}, .to = {0, {}, zero}, .extents = zero}},
                        .sets = TransferSignal{{1, HostExpr::constant(0), zero}, {}}}};
  LaunchArguments arguments;
  void *own = reinterpret_cast<void *>(fromAddress);
  arguments.tensors = {{own, ElementType::f32, {1}, {1}}, {own, ElementType::i32, {1}, {1}, {own}}};
  auto refusal = [&](HostExpr::Op op, int64_t lhs, int64_t rhs) {
    variant.transfers[0].sets->value = HostExpr::apply(op, HostExpr::constant(lhs), HostExpr::constant(rhs));
    return planTransfers(artifact, variant, arguments, {}, 1, {}).error().message;
  };
  CHECK(refusal(HostExpr::Op::multiply, 65536, 65536) ==
        "transfer 'some' round 0: expected the value of 'count' from 0 to 2147483647, but got 4294967296");
  CHECK(refusal(HostExpr::Op::remainder, -1, 3) ==
        "transfer 'some' round 0: expected the value of 'count' from 0 to 2147483647, but got -1");
  CHECK(refusal(HostExpr::Op::remainder, 1, 0) ==
        "transfer 'some' round 0: expected the value of 'count' to be computed from numbers of 32 bits and "
        "divisors other than 0, but it is not");
}

TEST_CASE("rounds that copy inside of the rank are made in stream order", "[device][transfers]") {
  // Round 0 copies from another rank, round 1 inside of this one, round 2 does both, and round 3 neither.
  const HostExpr round = HostExpr::dimension(0), one = HostExpr::constant(1);
  auto copyFrom = [&](int64_t rank, HostExpr extent) {
    return TransferCopy{
        .from = {.tensor = 0, .rank = HostExpr::constant(rank), .position = {HostExpr::constant(0)}},
        .to = {.tensor = 1, .position = {HostExpr::constant(0)}},
        .extents = {std::move(extent)}};
  };
  const HostExpr isOdd = HostExpr::apply(HostExpr::Op::remainder, round, HostExpr::constant(2)),
                 // 1, 0, 1, 0 and 0, 1, 1, 0
      ofOther = HostExpr::apply(HostExpr::Op::subtract, one, isOdd),
                 ofThis = HostExpr::apply(HostExpr::Op::remainder,
                                          HostExpr::apply(HostExpr::Op::divide,
                                                          HostExpr::apply(HostExpr::Op::add, round, one),
                                                          HostExpr::constant(2)),
                                          HostExpr::constant(2));
  Artifact artifact;
  artifact.tensors = {{.name = "X", .symmetric = true}, {.name = "Y", .access = Access::output}};
  Variant variant;
  variant.transfers = {{.name = "some",
                        .rounds = HostExpr::constant(4),
                        .copies = {copyFrom(1, ofOther), copyFrom(0, ofThis)}}};
  LaunchArguments arguments;
  arguments.ranks = 2;
  void *own = reinterpret_cast<void *>(fromAddress), *other = reinterpret_cast<void *>(2 * fromAddress);
  arguments.tensors = {{own, ElementType::f32, {1}, {1}, {own, other}},
                       {reinterpret_cast<void *>(toAddress), ElementType::f32, {1}, {1}}};
  const auto planned = expectValue(planTransfers(artifact, variant, arguments, {}, 1, {}));
  std::vector<bool> areInOrder;
  for (const PlannedRound &each : planned[0].rounds)
    areInOrder.push_back(each.isInOrder);
  CHECK(areInOrder == std::vector{false, true, true, true});
}
