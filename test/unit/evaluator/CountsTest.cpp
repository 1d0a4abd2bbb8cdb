// SPDX-License-Identifier: Apache-2.0
/// \file
/// What blocks know of each other by counts.
#include "compiler/dsl/Counts.h"

#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Numbers = std::vector<double>;

namespace {
Global counts(Scope &k) { return k.workspace("counts", i32, {4}, {Initial::zero}); }
} // namespace

TEST_CASE("blocks that take turns change one element", "[evaluator][unit]") {
  Tensor y = run({{given(f32, {1}, {1})}, {}}, [](Scope &k) {
    Global Y = k.inout("Y", f32, {1}), c = counts(k);
    [[maybe_unused]] auto [block] = k.grid(4);
    Index turn = take(c, {0});
    Fragment y = k.fragment(f32, {1});
    waitFor(c, {1}, turn * (turn + 1) / 2); // 1 + 2 + ...
    copy(Y.tile({0}, {1}), y);
    copy(2 * y + turn.to(f32), Y.tile({0}, {1}));
    announce(c, {1}, turn + 1);
  });
  CHECK(exactValues(y) == Numbers{2 * (2 * (2 * (2 * 1 + 0) + 1) + 2) + 3});
}

TEST_CASE("who takes the last number sees what all have added", "[evaluator][unit]") {
  Tensor y = run({{given(f32, {1}, {0}), unwritten(f32, {1})}, {}}, [](Scope &k) {
    Global X = k.inout("X", f32, {1}), Y = k.output("Y", f32, {1}), c = counts(k);
    auto [block] = k.grid(3);
    atomicAdd((block + 1).to(f32), X.tile({0}, {1}));
    Index number = take(c, {0});
    k.when(number == 2, [&] { copy(X.tile({0}, {1}), Y.tile({0}, {1})); });
  });
  CHECK(exactValues(y) == Numbers{6});
}

TEST_CASE("counts outside of their tensor count nothing", "[evaluator][unit]") {
  Tensor y = run({{unwritten(i32, {2})}, {}}, [](Scope &k) {
    Global Y = k.output("Y", i32, {2}), c = counts(k);
    [[maybe_unused]] auto [block] = k.grid(1);
    announce(c, {4});
    waitFor(c, {-1}, 5);
    Fragment outside = k.fragment(i32, {1}) + take(c, {4}).to(i32), all = k.fragment(i32, {4});
    copy(c.tile({0}, {4}), all);
    copy(outside, Y.tile({0}, {1}));
    copy(rowSum(all), Y.tile({1}, {1}));
  });
  CHECK(exactValues(y) == Numbers{0, 0});
}

TEST_CASE("what no count orders is an error", "[evaluator][unit]") {
  auto errorWith = [](const std::function<void(const Global &)> &before,
                      const std::function<void(const Global &)> &after) {
    return errorOf({{given(f32, {1}, {1})}, {}}, [&](Scope &k) {
      Global Y = k.inout("Y", f32, {1}), c = counts(k);
      auto [block] = k.grid(2);
      Fragment y = k.fragment(f32, {1});
      before(c);
      copy(Y.tile({0}, {1}), y);
      copy(y + 1 + block.to(f32), Y.tile({0}, {1}));
      after(c);
    });
  };
  std::string race = "block 1 reads element [0] of 'Y', which in the same launch is written by block 0, and "
                     "blocks run in any order";
  auto nothing = [](const Global &) {};
  // Nobody announces, nobody waits, or for another count.
  CHECK(errorWith([](const Global &c) { waitFor(c, {0}, 0); }, nothing) == race);
  CHECK(errorWith(nothing, [](const Global &c) { announce(c, {0}); }) == race);
  CHECK(errorWith([](const Global &c) { waitFor(c, {1}, 0); }, [](const Global &c) { announce(c, {0}); }) ==
        race);
  CHECK(
      errorWith([](const Global &c) { waitFor(c, {0}, 1); }, [](const Global &c) { announce(c, {0}); }) ==
      "a block waits here for ever: every role and block of its cluster has ended or waits, and so have the "
      "blocks that came before, and later ones may not have started; it expects at least 1 in element [0] of "
      "'counts', which is 0");
}
