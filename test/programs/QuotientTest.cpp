// SPDX-License-Identifier: Apache-2.0
/// \file
/// Quotients by numbers, which may be 0.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

TEST_CASE("quotients by numbers, 0 where they are 0", "[quotient]") {
  constexpr int64_t count = 8;
  Artifact artifact = compiled(Program::trace("quotients", [](Scope &k) {
    auto [block] = k.grid(1);
    Scalar none = block.to(f32);
    Global X = k.input("X", f32, {count}), N = k.input("N", i32, {count}), Y = k.output("Y", f32, {4, count}),
           Z = k.output("Z", i32, {3, count});
    Fragment x = k.fragment(f32, {count}), n = k.fragment(i32, {count});
    copy(X.tile({0}, {count}), x);
    copy(N.tile({0}, {count}), n);
    auto row = [&](const Global &to, int64_t i) { return to.tile({i, 0}, {1, count}); };
    copy(divideOrZero(x, 4), row(Y, 0));
    copy(divideOrZero(x, 0), row(Y, 1));
    copy(divideOrZero(x, none), row(Y, 2));
    copy(divideOrZero(8, x), row(Y, 3));
    copy(divideOrZero(n, 2), row(Z, 0));
    copy(divideOrZero(n, 0), row(Z, 1));
    copy(divideOrZero(8, n), row(Z, 2));
  }));
  Memory x = Memory::filled(f32, {count}, 0), n = Memory::filled(i32, {count}, 0);
  Memory y = Memory::filled(f32, {4, count}, notANumber), z = Memory::filled(i32, {3, count}, 99);
  x.values = n.values = {0, 1, 2, 4, 8, -8, -2, 0};
  run(artifact, {&x, &n, &y, &z});
  for (int64_t i = 0; i < count; ++i) {
    double value = x.values[size_t(i)];
    CHECK(y.at({0, i}) == value / 4);
    CHECK(y.at({1, i}) == 0);
    CHECK(y.at({2, i}) == 0);
    CHECK(y.at({3, i}) == (value == 0 ? 0 : 8 / value));
    CHECK(z.at({0, i}) == std::trunc(value / 2));
    CHECK(z.at({1, i}) == 0);
    CHECK(z.at({2, i}) == (value == 0 ? 0 : 8 / value));
  }
}
