// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices, shared tiles, atomic additions, and reads of what nobody has written.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Numbers = std::vector<double>;

TEST_CASE("positions of elements may be outside, and may be equal where they add", "[evaluator][unit]") {
  auto program = [](bool adds) {
    return [adds](Scope &k) {
      Global At = k.input("At", i32, {4}), X = k.input("X", f32, {3, 2}), Y = k.inout("Y", f32, {4, 2});
      Fragment at = k.fragment(i32, {4, 1}), x = k.fragment(f32, {4, 2});
      copy(At.tile({0}, {4}), at);
      copy(X.tile({at.toIndex(), 0}, {4, 2}).fill(9), x);
      if (adds)
        atomicAdd(x, Y.tile({at.toIndex(), 0}, {4, 2}));
      else
        copy(x, Y.tile({0, 0}, {4, 2}));
    };
  };
  auto arguments = [](const Numbers &at) {
    return Arguments{
        {given(i32, {4}, at), given(f32, {3, 2}, {1, 2, 3, 4, 5, 6}), given(f32, {4, 2}, Numbers(8, 0))}, {}};
  };
  CHECK(exactValues(run(arguments({2, -1, 0, 3}), program(false))) == Numbers{5, 6, 9, 9, 1, 2, 9, 9});
  CHECK(exactValues(run(arguments({2, 0, 2, -7}), program(true))) == Numbers{1, 2, 0, 0, 10, 12, 0, 0});
}

TEST_CASE("elements outside of a tensor read as the fill and are not written", "[evaluator][unit]") {
  auto shifted = [](Slice (*choose)(const Slice &)) {
    return exactValues(
        run({{given(f32, {3}, {1, 2, 3}), given(f32, {5}, {9, 9, 9, 9, 9})}, {}}, [&](Scope &k) {
          Index n = k.dim("n");
          Global X = k.input("X", f32, {n}), Y = k.inout("Y", f32, {5});
          Fragment x = k.fragment(f32, {6});
          copy(choose(X.tile({-1}, {6})), x);
          copy(x, Y.tile({1}, {6}));
        }));
  };
  CHECK(shifted([](const Slice &slice) { return slice; }) == Numbers{9, 0, 1, 2, 3});
  CHECK(shifted([](const Slice &slice) { return slice.fill(7); }) == Numbers{9, 7, 1, 2, 3});
  // A limited slice that begins before the tensor is outside altogether.
  CHECK(shifted([](const Slice &slice) { return slice.limited(0, 2).fill(7); }) == Numbers{9, 7, 7, 7, 7});
}

TEST_CASE("a limit ends a tensor, never beyond its extent", "[evaluator][unit]") {
  auto limited = [](int64_t end) {
    return exactValues(
        run({{given(i32, {1}, {double(end)}), given(f32, {3}, {1, 2, 3}), unwritten(f32, {5})}, {}},
            [](Scope &k) {
              Global End = k.input("End", i32, {1}), X = k.input("X", f32, {3});
              Global Y = k.output("Y", f32, {5});
              Index end = End.read({0});
              Fragment x = k.fragment(f32, {5});
              copy(X.tile({0}, {5}).limited(0, end), x);
              copy(x, Y.tile({0}, {5}));
            }));
  };
  CHECK(limited(2) == Numbers{1, 2, 0, 0, 0});
  CHECK(limited(100) == Numbers{1, 2, 3, 0, 0});
  CHECK(limited(-1) == Numbers{0, 0, 0, 0, 0});
}

TEST_CASE("an unchecked slice is inside", "[evaluator][unit]") {
  CHECK(errorOf({{given(f32, {3}, {1, 2, 3}), unwritten(f32, {4})}, {}}, [](Scope &k) {
          Index n = k.dim("n");
          Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {4});
          Fragment x = k.fragment(f32, {4});
          copy(X.tile({0}, {4}).unchecked("n >= 4"), x);
          copy(x, Y.tile({0}, {4}));
        }) == "expected a box inside 'X' because it is unchecked, but at [0] of 4 elements lie outside of 3");
}

TEST_CASE("views exchange axes, show rows and keep to the tile", "[evaluator][unit]") {
  Tensor y = run({{given(f32, {8, 2}, counting(16)), unwritten(f32, {2, 16})}, {}}, [](Scope &k) {
    Global X = k.input("X", f32, {8, 2}), Y = k.output("Y", f32, {2, 16});
    Shared tile = k.shared("tile", f32, {16, 2});
    copy(X.tile({0, 0}, {8, 2}), tile.rows(8, 8));
    fill(tile.rows(0, 8), -1);
    Fragment x = k.fragment(f32, {2, 16});
    copy(tile.t(), x);
    copy(x, Y.tile({0, 0}, {2, 16}));
  });
  CHECK(exactValues(y) == Numbers{-1, -1, -1, -1, -1, -1, -1, -1, 0, 2, 4, 6, 8, 10, 12, 14,
                                  -1, -1, -1, -1, -1, -1, -1, -1, 1, 3, 5, 7, 9, 11, 13, 15});
}

TEST_CASE("axes of extent 1 do not count in a copy", "[evaluator][unit]") {
  Tensor y = run({{given(f32, {2, 3, 2}, counting(12)), unwritten(f32, {2, 2})}, {}}, [](Scope &k) {
    Global X = k.input("X", f32, {2, 3, 2}), Y = k.output("Y", f32, {2, 2});
    Shared tile = k.shared("tile", f32, {2, 2});
    copy(X.tile({1, 1, 0}, {1, 2, 2}), tile);
    copy(tile, Y.tile({0, 0}, {2, 2}));
  });
  CHECK(exactValues(y) == Numbers{8, 9, 10, 11});
}

TEST_CASE("tensors without elements are no mistake", "[evaluator][unit]") {
  Tensor y = run({{unwritten(f32, {0, 4}), unwritten(f32, {1})}, {}}, [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n, 4}), Y = k.output("Y", f32, {1});
    Fragment x = k.fragment(f32, {2, 4});
    copy(X.tile({0, 0}, {2, 4}).fill(0.5), x);
    copy(reduce(Reduction::sum, rowSum(x), 0), Y.tile({0}, {1}));
  });
  CHECK(exactValues(y) == Numbers{4});
}

TEST_CASE("reading what nobody has written is an error", "[evaluator][unit]") {
  CHECK(errorOf({{given(f32, {2}, {1, 2}), unwritten(f32, {4})}, {}}, [](Scope &k) {
          Global X = k.input("X", f32, {2}), Y = k.output("Y", f32, {4});
          Shared tile = k.shared("tile", f32, {16, 2});
          fill(tile.rows(0, 8), 1);
          Fragment x = k.fragment(f32, {8, 2});
          copy(tile.rows(0, 8), x);
          copy(tile.rows(8, 8), x);
          copy(X.tile({0}, {2}), Y.tile({0}, {2}));
        }) == "element [0, 0] of 'tile' is read, but has never been written");
  CHECK(errorOf({{unwritten(f32, {2, 2})}, {}}, [](Scope &k) {
          Global Y = k.output("Y", f32, {2, 2});
          Fragment y = k.fragment(f32, {1, 2});
          copy(y, Y.tile({0, 0}, {1, 2}));
          copy(Y.tile({0, 0}, {1, 2}), y);
          copy(Y.tile({1, 0}, {1, 2}), y);
          copy(y, Y.tile({1, 0}, {1, 2}));
        }) == "element [1, 0] of 'Y' is read, but has never been written");
}

TEST_CASE("a workspace hands numbers from launch to launch", "[evaluator][unit]") {
  auto program = [](Initial initial) {
    return [initial](Scope &k) {
      Global Y = k.output("Y", f32, {4});
      Global W = k.workspace("W", f32, {4}, {.initial = initial});
      k.launch("first", [&] { copy(k.fragment(f32, {2}, 5), W.tile({1}, {2})); });
      k.launch("second", [&] {
        Fragment w = k.fragment(f32, {4});
        copy(W.tile({0}, {4}), w);
        copy(w, Y.tile({0}, {4}));
      });
    };
  };
  CHECK(exactValues(run({{unwritten(f32, {4})}, {}}, program(Initial::zero))) == Numbers{0, 5, 5, 0});
  CHECK(errorOf({{unwritten(f32, {4})}, {}}, program(Initial::undefined)) ==
        "element [0] of 'W' is read, but has never been written");
}

TEST_CASE("atomic additions of several blocks make one sum, in any order", "[evaluator][unit]") {
  auto sumOf = [](ElementType type, Numbers parts) {
    auto count = static_cast<int64_t>(parts.size());
    return run({{given(type, {count}, parts), given(type, {1}, {1})}, {}}, [&](Scope &k) {
      Global X = k.input("X", type, {count}), Y = k.inout("Y", type, {1});
      auto [block] = k.grid(count);
      Fragment x = k.fragment(type, {1});
      copy(X.tile({block}, {1}), x);
      atomicAdd(x, Y.tile({0}, {1}));
    });
  };
  CHECK(exactValues(sumOf(f32, {2, 3, 4})) == Numbers{10});
  CHECK(exactValues(sumOf(i32, {2147483647, 3})) == Numbers{-2147483645});
  Tensor open = sumOf(f32, {16777216, 1, -16777216}); // between 0 and 2
  CHECK(open.elements[0].value == 2);
  CHECK(open.elements[0].bound >= 2);
}

TEST_CASE("tiles are combined with a tensor, by several blocks in any order", "[evaluator][unit]") {
  auto combined = [](ElementType type, void (*combine)(const Shared &, const Slice &, Loc), Numbers parts,
                     double before) {
    auto count = static_cast<int64_t>(parts.size()) / 2;
    return run({{given(type, {2 * count}, parts), given(type, {2}, {before, before})}, {}}, [&](Scope &k) {
      Global X = k.input("X", type, {2 * count}), Y = k.inout("Y", type, {2});
      auto [block] = k.grid(count);
      Shared tile = k.shared("tile", type, {4}); // of which the tensor has two
      fill(tile, 1);
      copy(X.tile({block * 2}, {4}), tile);
      combine(tile, Y.tile({0}, {4}), Loc::current());
    });
  };
  CHECK(exactValues(combined(f32, atomicAdd, {2, 3, 4, 5}, 1)) == Numbers{7, 9});
  CHECK(exactValues(combined(i32, atomicMin, {2, 3, -4, 5}, 1)) == Numbers{-4, 1});
  CHECK(exactValues(combined(bf16, atomicMax, {2, 3, -4, 5}, 1)) == Numbers{2, 5});
  CHECK(exactValues(combined(f16, atomicMin, {2, 3, 4, 5}, std::nan(""))) == Numbers{2, 3});
  Tensor rounded = combined(bf16, atomicAdd, {1, 0, 256, 0, -256, 0}, 0); // 0 or 1
  CHECK(rounded.elements[0].value == 1);
  CHECK(rounded.elements[0].bound >= 1);
}

TEST_CASE("blocks combine fragments with elements in any order", "[evaluator][unit]") {
  using Combine = void (*)(const FragmentValue &, const Slice &, Loc);
  auto combined = [](ElementType type, Combine combine, const Numbers &x, double initial) {
    auto count = static_cast<int64_t>(x.size()) / 3;
    return run({{given(type, {count, 3}, x), given(type, {3}, {initial, initial, initial})}, {}},
               [&](Scope &k) {
                 Global X = k.input("X", type, {count, 3}), Y = k.inout("Y", type, {3});
                 auto [block] = k.grid(count);
                 Fragment x = k.fragment(type, {4}); // of which the tensor has three
                 copy(X.tile({block, 0}, {1, 4}), x);
                 combine(x, Y.tile({0}, {4}), Loc::current());
               });
  };
  CHECK(exactValues(combined(i32, atomicMin, {2, -3, 4, 5, 0, -6}, 1)) == Numbers{1, -3, -6});
  CHECK(exactValues(combined(u32, atomicMax, {2, 0, 4e9, 5, 0, 7}, 1)) == Numbers{5, 1, 4e9});
  CHECK(exactValues(combined(i64, atomicAnd, {7, 6, -1, 13, 3, -8}, -1)) == Numbers{5, 2, -8});
  CHECK(exactValues(combined(u32, atomicOr, {1, 0, 0x80000000, 4, 2, 1}, 8)) == Numbers{13, 10, 0x80000009});
  CHECK(exactValues(combined(i32, atomicXor, {5, 1, -1, 5, 3, -1}, 6)) == Numbers{6, 4, 6});
}

TEST_CASE("elements at one position are combined, too", "[evaluator][unit]") {
  CHECK(exactValues(run({{given(i32, {4}, {1, 2, 4, 8}), given(i32, {2}, {16, 32})}, {}}, [](Scope &k) {
          Global X = k.input("X", i32, {4}), Y = k.inout("Y", i32, {2});
          Fragment x = k.fragment(i32, {4});
          copy(X.tile({0}, {4}), x);
          atomicOr(x, Y.tile({(k.positions({4}, 0) / 2).toIndex()}, {4}));
          atomicXor(1, Y.tile({(k.positions({4}, 0) - 2).toIndex()}, {4})); // twice outside
        })) == Numbers{16 + 2, 32 + 12 + 1});
}

TEST_CASE("atomic operations return the old value, of elements outside the fill", "[evaluator][unit]") {
  using Fetch = void (*)(const Operand &, const Slice &, Fragment &, Loc);
  auto fetched = [](Fetch fetch, bool returnsOld) {
    Arguments arguments{{given(i32, {3}, {5, -2, 7}), unwritten(i32, {4})}, {}};
    if (!returnsOld)
      std::swap(arguments.tensors[0], arguments.tensors[1]);
    return exactValues(run(std::move(arguments), [&](Scope &k) {
      auto declare = [&](bool isOld) { return isOld ? k.output("Old", i32, {4}) : k.inout("Y", i32, {3}); };
      Global first = declare(!returnsOld), last = declare(returnsOld);
      Global Y = returnsOld ? first : last, Old = returnsOld ? last : first;
      Fragment old = k.fragment(i32, {4});
      fetch(3, Y.tile({0}, {4}).fill(9), old, Loc::current());
      copy(old, Old.tile({0}, {4}));
    }));
  };
  CHECK(fetched(atomicAdd, true) == Numbers{5, -2, 7, 9});
  CHECK(fetched(atomicAdd, false) == Numbers{8, 1, 10});
  CHECK(fetched(atomicMax, true) == Numbers{5, -2, 7, 9});
  CHECK(fetched(atomicMax, false) == Numbers{5, 3, 7});
  CHECK(fetched(atomicExchange, true) == Numbers{5, -2, 7, 9});
  CHECK(fetched(atomicExchange, false) == Numbers{3, 3, 3});
  Fetch swap = [](const Operand &value, const Slice &to, Fragment &old, Loc loc) {
    atomicCompareAndSwap(-2, value, to, old, loc);
  };
  CHECK(fetched(swap, true) == Numbers{5, -2, 7, 9});
  CHECK(fetched(swap, false) == Numbers{5, 3, 7});
}

TEST_CASE("of elements at one position none is the first", "[evaluator][unit]") {
  auto program = [](bool exchanges) {
    return [exchanges](Scope &k) {
      Global Y = k.inout("Y", i32, {2}), Old = k.output("Old", i32, {4});
      Fragment old = k.fragment(i32, {4});
      Slice twice = Y.tile({(k.positions({4}, 0) / 3).toIndex()}, {4}); // 0 0 0 1
      if (exchanges)
        atomicExchange(1, twice, old);
      else
        atomicAdd(1, twice, old);
      copy(old, Old.tile({0}, {4}));
    };
  };
  for (bool exchanges : {false, true}) {
    Tensor old = run({{given(i32, {2}, {5, 6}), unwritten(i32, {4})}, {}}, program(exchanges));
    for (size_t i = 0; i < 3; ++i)
      CHECK(std::isinf(old.elements[i].bound));
    CHECK(old.elements[3].bound == 0);
    CHECK(old.elements[3].integer == 6);
  }
}

TEST_CASE("what blocks find is not known if they change one element", "[evaluator][unit]") {
  CHECK(errorOf({{given(i32, {1}, {0})}, {}},
                [](Scope &k) {
                  Global Y = k.inout("Y", i32, {1});
                  auto [block] = k.grid(2);
                  Fragment old = k.fragment(i32, {1});
                  atomicExchange(1, Y.tile({0}, {1}), old);
                }) ==
        "block 1 fetches and changes element [0] of 'Y', which in the same launch is fetched and "
        "changed by block 0, and blocks run in any order");
}

TEST_CASE("sums and extrema of one element are not mixed by blocks", "[evaluator][unit]") {
  CHECK(errorOf({{given(i32, {4}, {1, 1, 1, 1})}, {}},
                [](Scope &k) {
                  Global Y = k.inout("Y", i32, {4});
                  auto [block] = k.grid(2);
                  Shared tile = k.shared("tile", i32, {4});
                  fill(tile, 1);
                  k.when(
                      block == 0, [&] { atomicAdd(tile, Y.tile({0}, {4})); },
                      [&] { atomicMax(tile, Y.tile({0}, {4})); });
                }) ==
        "block 1 raises element [0] of 'Y', which in the same launch is added to by block 0, and "
        "blocks run in any order");
  CHECK(errorOf({{given(i32, {4}, {1, 1, 1, 1})}, {}},
                [](Scope &k) {
                  Global Y = k.inout("Y", i32, {4});
                  auto [block] = k.grid(2);
                  k.when(
                      block == 0, [&] { atomicOr(2, Y.tile({1}, {1})); },
                      [&] { atomicXor(2, Y.tile({1}, {1})); });
                }) == "block 1 flips bits of element [1] of 'Y', which in the same launch is given bits by "
                      "block 0, and blocks run in any order");
}

TEST_CASE("blocks of one launch must not disagree about an element", "[evaluator][unit]") {
  auto program = [](const std::function<void(Scope &, const Index &, const Global &)> &body) {
    return [body](Scope &k) {
      Global Y = k.inout("Y", f32, {1});
      auto [block] = k.grid(2);
      body(k, block, Y);
    };
  };
  auto y = [] { return Arguments{{given(f32, {1}, {1})}, {}}; };
  CHECK(errorOf(y(), program([](Scope &k, const Index &block, const Global &Y) {
                  copy(k.fragment(f32, {1}) + block.to(f32), Y.tile({0}, {1}));
                })) == "block 1 writes element [0] of 'Y', which in the same launch is given another number "
                       "by block 0, and blocks run in any order");
  CHECK(errorOf(y(), program([](Scope &k, const Index &block, const Global &Y) {
                  Fragment x = k.fragment(f32, {1});
                  copy(Y.tile({0}, {1}), x);
                  k.when(block == 1, [&] { copy(x + 1, Y.tile({0}, {1})); });
                })) == "block 1 changes element [0] of 'Y', which in the same launch is read by other "
                       "blocks, and blocks run in any order");
  CHECK(exactValues(run(y(), program([](Scope &k, const Index &, const Global &Y) {
                          copy(k.fragment(f32, {1}, 5), Y.tile({0}, {1}));
                        }))) == Numbers{5});
}

TEST_CASE("positions in shared tiles are kept to", "[evaluator][unit]") {
  auto program = [](int64_t at) {
    return [at](Scope &k) {
      Index n = k.dim("n");
      Global X = k.input("X", f32, {n}), Y = k.output("Y", i32, {1});
      Shared tile = k.shared("tile", i32, {4});
      tile.write({n - 1}, 42);
      copy(k.fragment(i32, {1}) + tile.read({n + (at - 3)}).to(i32), Y.tile({0}, {1}));
    };
  };
  Arguments arguments{{given(f32, {3}, {1, 2, 3}), unwritten(i32, {1})}, {}};
  CHECK(exactValues(run(arguments, program(2))) == Numbers{42});
  CHECK(errorOf(arguments, program(4)) == "expected a position in 'tile' of 4, but got 4 along axis 0");
  CHECK(errorOf(arguments, program(3)) == "element [0] of 'tile' is read, but has never been written");
}

TEST_CASE("windows see the elements of images, and fill values beyond them", "[evaluator][unit]") {
  // Two images of 3 pixels, of one channel: positions begin one before the first pixel and go on by two.
  auto seen = [](int64_t first, int64_t tap) {
    Arguments arguments = {{given(f32, {2, 3, 1}, {1, 2, 3, 4, 5, 6}), unwritten(f32, {6})}, {}};
    return exactValues(run(arguments, [&](Scope &k) {
      Global X = k.input("X", f32, {2, 3, 1}), Y = k.output("Y", f32, {6});
      Fragment x = k.fragment(f32, {6});
      copy(X.windows({.taps = {2}, .strides = {2}, .before = {1}, .after = {1}})
               .tile({first, tap, 0}, {6, 1, 1})
               .fill(9),
           x);
      copy(x, Y.tile({0}, {6}));
    }));
  };
  CHECK(seen(0, 0) == Numbers{9, 2, 9, 5, 9, 9});
  CHECK(seen(0, 1) == Numbers{1, 3, 4, 6, 9, 9});
  CHECK(seen(1, 1) == Numbers{3, 4, 6, 9, 9, 9});
  CHECK(seen(0, 2) == Numbers(6, 9));
  CHECK(seen(-1, 1) == Numbers(6, 9));
}
