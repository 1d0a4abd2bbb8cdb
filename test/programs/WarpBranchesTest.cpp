// SPDX-License-Identifier: Apache-2.0
/// \file
/// Branches that each warp takes by itself.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t rows = 64, columns = 32;

/// X and Y are tiles of n rows; `body` makes of them what comes out as Z.
Artifact compiledFor(const std::function<FragmentValue(Scope &, Fragment &, Fragment &)> &body) {
  return compiled(Program::trace("choose", {}, [&](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n, columns}), Y = k.input("Y", f32, {n, columns});
    Global Z = k.output("Z", f32, {n, columns});
    auto [i] = k.grid(ceilDiv(n, rows));
    Fragment x = k.fragment(f32, {rows, columns}), y = k.fragment(f32, {rows, columns});
    copy(X.tile({i * rows, 0}, {rows, columns}), x);
    copy(Y.tile({i * rows, 0}, {rows, columns}), y);
    copy(body(k, x, y), Z.tile({i * rows, 0}, {rows, columns}));
  }));
}

/// X: 1/2 but for one element of 2, at a random place.
struct OneLarge {
  OneLarge() {
    std::mt19937_64 random(seed);
    place = {int64_t(random() % rows), int64_t(random() % columns)};
    x.at(place) = 2;
  }
  uint64_t seed = Catch::rngSeed();
  std::vector<int64_t> place;
  Memory x = Memory::filled(ElementType::f32, {rows, columns}, 0.5);
};

using Body = std::function<void()>;

/// `decide` runs its body, which sets f16s to 1, in the warp that holds the large element of X alone.
void checkOtherType(const std::function<void(Scope &, Fragment &x, const Body &)> &decide) {
  Artifact artifact = compiled(Program::trace("other_type", {}, [&](Scope &k) {
    Global X = k.input("X", f32, {rows, columns}), Z = k.output("Z", f16, {rows, columns});
    k.grid(Index(1));
    Fragment x = k.fragment(f32, {rows, columns}), z = k.fragment(f16, {rows, columns});
    Fragment one = k.fragment(f16, {rows, columns}, 1);
    copy(X.tile({0, 0}, {rows, columns}), x);
    decide(k, x, [&] { z = one; });
    copy(z, Z.tile({0, 0}, {rows, columns}));
  }));
  OneLarge input;
  CAPTURE(input.seed, input.place);
  Memory z = Memory::filled(ElementType::f16, {rows, columns}, notANumber);
  run(artifact, {&input.x, &z});
  CHECK(z.at(input.place) == 1);
  CHECK(std::ranges::count(z.values, 0.0) > 0); // other warps have not been there
}

} // namespace

TEST_CASE("a branch of a warp may choose between fragments that were there before", "[programs]") {
  Artifact artifact = compiledFor([](Scope &k, Fragment &x, Fragment &y) {
    Fragment zero = k.fragment(f32, {rows, columns});
    k.whenAny(x > 1, [&] {
      x = y;
      y = zero;
    });
    return x + y;
  });
  auto seed = uint64_t(Catch::rngSeed());
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  // All warps of the first tile come to the branch, none of the second one.
  Memory x = Memory::filled(ElementType::f32, {2 * rows, columns}, 0), y = x,
         z = Memory::filled(ElementType::f32, {2 * rows, columns}, notANumber);
  for (int64_t row = 0; row < 2 * rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      x.at({row, column}) = double(random() % 256) / 256 + (row < rows ? 1.5 : 0);
      y.at({row, column}) = double(random() % 256);
    }
  run(artifact, {&x, &y, &z});
  for (int64_t row = 0; row < 2 * rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      double kept = row < rows ? 0 : x.at({row, column});
      CHECK(z.at({row, column}) == kept + y.at({row, column}));
    }
}

TEST_CASE("a branch of a warp, in one that all take, is taken for a single element", "[programs]") {
  Artifact artifact = compiledFor([](Scope &k, Fragment &x, Fragment &y) {
    Predicate some = k.blocks() > 0;
    k.whenAny(x > 1, [&] { k.when(some, [&] { x = y; }); });
    return FragmentValue(x);
  });
  OneLarge input;
  CAPTURE(input.seed, input.place);
  Memory y = Memory::filled(ElementType::f32, {rows, columns}, 7),
         z = Memory::filled(ElementType::f32, {rows, columns}, notANumber);
  run(artifact, {&input.x, &y, &z});
  CHECK(z.at(input.place) == 7);
  int64_t changed = 0;
  for (double value : z.values) {
    CHECK((value == 7 || value == 0.5));
    changed += value == 7;
  }
  CHECK(changed < rows * columns); // other warps have not been there
}

TEST_CASE("a warp decides about what it holds, also of another type", "[programs]") {
  checkOtherType([](Scope &k, Fragment &x, const Body &body) { k.whenAny(x > 1, body); });
}

TEST_CASE("what two decisions of warps make together is about what they hold, too", "[programs]") {
  checkOtherType(
      [](Scope &k, Fragment &x, const Body &body) { k.whenAny(x > 1, [&] { k.whenAny(x < 1, body); }); });
}
