// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared tiles of other blocks of the cluster: who sees what, in the order of the program.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Numbers = std::vector<double>;

TEST_CASE("a block sees what the others did before, and nothing later", "[evaluator][unit]") {
  Tensor y = run({{unwritten(f32, {3})}, {}}, [](Scope &k) {
    Global Y = k.output("Y", f32, {3});
    k.cluster(3);
    auto [block] = k.grid(3);
    Index rank = k.blockRank();
    Shared tile = k.shared("tile", f32, {1});
    Fragment x = k.fragment(f32, {1}), sum = k.fragment(f32, {1});
    fill(tile, 0);
    k.loop(3, [&](Index round) {
      copy(tile.of((rank + 1) % 3), x); // of the round before
      sum += x;
      copy(((rank + 1) * (round + 1)).to(f32) + k.fragment(f32, {1}), tile);
    });
    k.when(rank == 0, [&] { copy(sum * 10, tile.of(2)); });
    copy(tile, x);
    copy(x, Y.tile({block}, {1}));
  });
  CHECK(exactValues(y) == Numbers{3, 6, 60}); // block 0 has added 2 and 4 of block 1
}

TEST_CASE("rows and sums of a cluster", "[evaluator][unit]") {
  Tensor y = run({{unwritten(f32, {16, 1})}, {}}, [](Scope &k) {
    Global Y = k.output("Y", f32, {16, 1});
    k.cluster(2);
    [[maybe_unused]] auto [block] = k.grid(2);
    Index rank = k.blockRank();
    Shared tile = k.shared("tile", f32, {16, 1});
    Fragment mine = k.fragment(f32, {16, 1}), rows = k.fragment(f32, {8, 1});
    mine = k.positions({16, 1}, 0).to(f32) + (rank * 100).to(f32);
    copy(mine, tile);
    copy(tile.of(1 - rank).rows(rank * 8, 8), rows); // 100 + r in block 0, 8 + r in block 1
    copy(clusterSumShare(mine) + 1000 * clusterSum(rows), Y.tile({rank * 8, 0}, {8, 1}));
  });
  Numbers expected;
  for (int row = 0; row < 16; ++row)
    expected.push_back(2 * row + 100 + 1000 * (108 + 2 * (row % 8)));
  CHECK(exactValues(y) == expected);
}

TEST_CASE("what a cluster does not have is an error", "[evaluator][unit]") {
  auto errorWith = [](const std::function<void(Shared, Index, Fragment &)> &access) {
    return errorOf({{given(i32, {1}, {2})}, {}}, [&](Scope &k) {
      Global X = k.input("X", i32, {1});
      k.cluster(2);
      [[maybe_unused]] auto [block] = k.grid(2);
      Shared tile = k.shared("tile", f32, {16, 1});
      Fragment x = k.fragment(f32, {8, 1});
      access(tile, X.read({0}), x);
    });
  };
  CHECK_THAT(errorWith([](const Shared &tile, const Index &two, Fragment &x) {
               fill(tile, 0);
               copy(tile.of(two).rows(0, 8), x);
             }),
             Catch::Contains("expected a block of the cluster, from 0 to 1, but got block 2 for 'tile'"));
  CHECK_THAT(errorWith([](const Shared &tile, const Index &two, Fragment &x) {
               fill(tile, 0);
               copy(tile.of(0).rows(two * 8, 8), x);
             }),
             Catch::Contains("expected a first row of 'tile' from 0 to 8, but got 16"));
  CHECK_THAT(
      errorWith([](const Shared &tile, const Index &, Fragment &x) { copy(tile.of(0).rows(0, 8), x); }),
      Catch::Contains("is read, but has never been written"));
}
