// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integers as floating point, which is one rounding.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {
/// The double, exactly, of each integer after it became `element`.
std::vector<double> converted(ElementType from, ElementType element, const std::vector<double> &integers,
                              bool byFloat = false) {
  int64_t count = int64_t(integers.size());
  Artifact artifact = compiled(Program::trace("converted", [&](Scope &k) {
    Global X = k.input("X", from, {count}), Y = k.output("Y", f32, {count});
    Fragment x = k.fragment(from, {count});
    copy(X.tile({0}, {count}), x);
    FragmentValue y = byFloat ? x.to(f32).to(element) : x.to(element);
    copy(y.to(f32), Y.tile({0}, {count}));
  }));
  Memory x = Memory::filled(from, {count}, 0), y = Memory::filled(f32, {count}, notANumber);
  x.values = integers;
  run(artifact, {&x, &y});
  return y.values;
}
} // namespace

TEST_CASE("integers as floats of 8 bits", "[conversion]") {
  const std::vector<double> integers = {0,   1,   -1,  17,  18,   19,   -18,        100,
                                        447, 448, 449, 500, -464, -480, 2147483647, -2147483648.};
  // 17 and 19 are ties, and become even; 448 is the largest number.
  const std::vector<double> expected = {0,   1,   -1,  16,  18,   20,   -18, 96,
                                        448, 448, 448, 448, -448, -448, 448, -448};
  for (bool byFloat : {false, true}) {
    CHECK(converted(i32, e4m3, integers, byFloat) == expected);
    CHECK(converted(i64, e4m3, integers, byFloat) == expected);
  }
}

TEST_CASE("integers as floats of 16 bits are rounded once", "[conversion]") {
  // By way of f32 these would become a tie, and the tie an even number.
  const double above = 0x1p30 + 0x1p22 + 1, below = 0x1p30 + 3 * 0x1p22 - 1;
  const std::vector<double> integers = {above, below, -above, 257, 259, 2147483647, -2147483648., 3};
  const std::vector<double> expected = {
      0x1p30 + 0x1p23, 0x1p30 + 0x1p23, -0x1p30 - 0x1p23, 256, 260, 0x1p31, -0x1p31, 3};
  for (bool byFloat : {false, true}) {
    CHECK(converted(i32, bf16, integers, byFloat) == expected);
    CHECK(converted(i64, bf16, integers, byFloat) == expected);
  }
  const std::vector<double> small = {2049, 2051, -2049, 65504, 65519, 65520, 4098, 3};
  const std::vector<double> asF16 = {2048, 2052, -2048, 65504, 65504, INFINITY, 4096, 3};
  CHECK(converted(i32, f16, small) == asF16);
  CHECK(converted(i64, f16, small) == asF16);
}

TEST_CASE("pairs of floats of 8 bits that are known to be 0", "[conversion]") {
  for (ElementType element : {e4m3, e5m2}) {
    Artifact artifact = compiled(Program::trace("zeros", [&](Scope &k) {
      Index n = k.dim("n");
      Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {64, 16});
      Fragment x = k.fragment(element, {64, 16}), sum = k.fragment(f32, {64, 16}),
               first = k.fragment(f32, {64, 1});
      k.loop(2, [&](Index) {
        k.when(n > 1, [&] { sum += max(min(sum, 2), -2); });
        x = max(min(x.to(f32), 32), -32).to(element);
      });
      copy(X.tile({0}, {64}), first); // 0
      copy(x.to(f32) + sum + first, Y.tile({0, 0}, {64, 16}));
    }));
    Memory x = Memory::filled(f32, {1}, 0), y = Memory::filled(f32, {64, 16}, notANumber);
    run(artifact, {&x, &y});
    CHECK(y.values == std::vector<double>(64 * 16, 0));
  }
}
