// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices of shared tiles: boxes, positions of elements, atomic operations.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Numbers = std::vector<double>;

TEST_CASE("elements outside of a shared tile read as the fill and are not written", "[evaluator][unit]") {
  Tensor y = run({{given(f32, {2, 3}, {1, 2, 3, 4, 5, 6}), unwritten(f32, {5, 3})}, {}}, [](Scope &k) {
    Global X = k.input("X", f32, {2, 3}), Y = k.output("Y", f32, {5, 3});
    Shared tile = k.shared("tile", f32, {2, 3});
    copy(X.tile({0, 0}, {2, 3}), tile);
    Fragment x = k.fragment(f32, {3, 2}), turned = k.fragment(f32, {2, 3});
    copy(tile.t().tile({1, -1}, {3, 2}).fill(9), x); // columns 1 to 3 of rows -1 and 0
    copy(x, tile.tile({1, 1}, {3, 2}));              // the first row of it inside
    copy(tile.tile({0, 0}, {2, 3}).limited(1, 2).fill(7), turned);
    copy(x, Y.tile({0, 0}, {3, 2}));
    fill(Y.tile({0, 2}, {3, 1}), 0);
    copy(turned, Y.tile({3, 0}, {2, 3}));
  });
  CHECK(exactValues(y) == Numbers{9, 2, 0, 9, 3, 0, 9, 9, 0, 1, 2, 7, 4, 9, 7});
}

TEST_CASE("elements of a shared tile at positions of their own", "[evaluator][unit]") {
  Tensor y = run({{given(i32, {5}, {2, 0, 2, -7, 4}), unwritten(i32, {14})}, {}}, [](Scope &k) {
    Global At = k.input("At", i32, {5}), Y = k.output("Y", i32, {14});
    Shared tile = k.shared("tile", i32, {4});
    Fragment at = k.fragment(i32, {5}), read = k.fragment(i32, {5}), old = k.fragment(i32, {5});
    copy(At.tile({0}, {5}), at);
    fill(tile, 1);
    atomicAdd(10, tile.tile({at.toIndex()}, {5}));
    copy(tile.tile({at.toIndex()}, {5}).fill(-1), read);
    copy(tile, Y.tile({0}, {4}));
    copy(read, Y.tile({4}, {5}));
    atomicMax(12, tile.tile({0}, {5}).fill(-2), old);
    copy(old, Y.tile({9}, {5}));
  });
  CHECK(exactValues(y) == Numbers{11, 1, 21, 1, 21, 11, 21, -1, -1, 11, 1, 21, 1, -2});
}

TEST_CASE("sums in shared memory begin anew where it is written", "[evaluator][unit]") {
  Tensor y = run({{unwritten(f32, {2})}, {}}, [](Scope &k) {
    Global Y = k.output("Y", f32, {2});
    Shared tile = k.shared("tile", f32, {2});
    k.loop(3, [&](Index) {
      fill(tile, 1);
      atomicAdd(2, tile.tile({1}, {1}));
      atomicAdd(2, tile.tile({1}, {1}));
    });
    copy(tile, Y.tile({0}, {2}));
  });
  CHECK(exactValues(y) == Numbers{1, 5});
}

TEST_CASE("mistakes in slices of shared tiles", "[evaluator][unit]") {
  Arguments nothing = {{unwritten(f32, {4})}, {}};
  CHECK(errorOf(nothing, [](Scope &k) {
          Global Y = k.output("Y", f32, {4});
          Shared tile = k.shared("tile", f32, {8});
          fill(tile.tile({0}, {3}), 0);
          Fragment x = k.fragment(f32, {4});
          copy(tile.tile({0}, {4}), x);
          copy(x, Y.tile({0}, {4}));
        }) == "element [3] of 'tile' is read, but has never been written");
  CHECK(errorOf(nothing, [](Scope &k) {
          Global Y = k.output("Y", f32, {4});
          Shared tile = k.shared("tile", f32, {8});
          atomicAdd(1, tile.tile({2}, {1}));
          copy(tile.tile({2}, {1}), Y.tile({0}, {1}));
        }) == "element [2] of 'tile' is added to, but has never been written");
  CHECK(errorOf(nothing,
                [](Scope &k) {
                  Global Y = k.output("Y", f32, {4});
                  Shared tile = k.shared("tile", f32, {8});
                  fill(tile, 0);
                  Fragment x = k.fragment(f32, {4});
                  copy(tile.tile({5}, {4}).unchecked("it is"), x);
                  copy(x, Y.tile({0}, {4}));
                }) ==
        "expected a box inside 'tile' because it is unchecked, but at [5] of 4 elements lie outside of 8");
}
