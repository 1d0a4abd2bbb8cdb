// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts of a shared tile's columns: filled by copies of every kind, read by copies and products.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

Memory numbers(ElementType type, std::vector<int64_t> shape, int64_t first) {
  Memory memory = Memory::filled(type, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double((int64_t(i) * 37 + first) % 9 - 4);
  return memory;
}

int64_t panelOf(ElementType type) { return 128 / int64_t(sizeInBytes(type)); }

/// Where sums differ from those of products of A's and B's elements.
template <class Left, class Right>
int64_t countWrong(Memory &c, int64_t depth, const Left &left, const Right &right) {
  int64_t wrong = 0;
  for (int64_t row = 0; row < c.shape[0]; ++row)
    for (int64_t column = 0; column < c.shape[1]; ++column) {
      double sum = 0;
      for (int64_t at = 0; at < depth; ++at)
        sum += left(row, at) * right(at, column);
      wrong += c.at({row, column}) != sum;
    }
  return wrong;
}

} // namespace

TEST_CASE("two tensors side by side in one tile, exchanged on the way out", "[tile-parts]") {
  constexpr int64_t rows = 21;
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {i8, bf16, f32, f64}) {
      CAPTURE(target, toString(type));
      const int64_t panel = panelOf(type), left = panel - 3, right = 2 * panel;
      Artifact artifact = compiled(
          Program::trace("side_by_side",
                         [&](Scope &k) {
                           Index m = k.dim("m");
                           Global A = k.input("A", type, {m, left}), B = k.input("B", type, {m, right}),
                                  C = k.output("C", type, {m, right}), D = k.output("D", type, {m, left});
                           auto [block] = k.grid(ceilDiv(m, 16));
                           Shared tile = k.shared("tile", type, {16, 3 * panel});
                           Fragment x = k.fragment(type, {16, panel});
                           copy(A.tile({block * 16, 0}, {16, panel}), tile.columns(0, panel));
                           copy(B.tile({block * 16, 0}, {16, 2 * panel}), tile.columns(panel, 2 * panel));
                           copy(tile.columns(panel, 2 * panel), C.tile({block * 16, 0}, {16, 2 * panel}));
                           copy(tile.columns(0, panel), x);
                           copy(x, D.tile({block * 16, 0}, {16, panel}));
                         }),
          compilingFor(target));
      Memory a = numbers(type, {rows, left}, 0), b = numbers(type, {rows, right}, 5);
      Memory c = Memory::filled(type, {rows, right}, 99), d = Memory::filled(type, {rows, left}, 99);
      run(artifact, {&a, &b, &c, &d});
      CHECK(c.values == b.values);
      CHECK(d.values == a.values);
    }
}

TEST_CASE("products of parts along the summed axis", "[tile-parts]") {
  constexpr int64_t m = 64, n = 40;
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {bf16, f32, i8}) {
      CAPTURE(target, toString(type));
      const int64_t panel = panelOf(type), depth = 3 * panel, columns = type == i8 ? 48 : n;
      ElementType sums = type == i8 ? i32 : f32;
      Artifact artifact =
          compiled(Program::trace("along",
                                  [&](Scope &k) {
                                    if (target == "sm_90a")
                                      k.require(Requirement::wgmma);
                                    Global A = k.input("A", type, {m, depth}),
                                           B = k.input("B", type, {columns, depth}),
                                           C = k.output("C", sums, {m, columns});
                                    Shared a = k.shared("a", type, {m, depth}),
                                           b = k.shared("b", type, {columns, depth});
                                    Fragment acc = k.fragment(sums, {m, columns});
                                    copy(A.tile({0, 0}, {m, depth}), a);
                                    copy(B.tile({0, 0}, {columns, depth}), b);
                                    // The first and the last panel of A with each other's of B.
                                    gemm(a.columns(0, panel), b.columns(2 * panel, panel).t(), acc);
                                    gemm(a.columns(panel, 2 * panel), b.columns(0, 2 * panel).t(), acc);
                                    copy(acc, C.tile({0, 0}, {m, columns}));
                                  }),
                   compilingFor(target));
      Memory a = numbers(type, {m, depth}, 0), b = numbers(type, {columns, depth}, 5);
      Memory c = Memory::filled(sums, {m, columns}, 99);
      run(artifact, {&a, &b, &c});
      CHECK(countWrong(
                c, depth, [&](int64_t row, int64_t at) { return a.at({row, at}); },
                [&](int64_t at, int64_t column) { return b.at({column, (at + 2 * panel) % depth}); }) == 0);
    }
}

TEST_CASE("products with parts of the result's columns, and of rows and columns", "[tile-parts]") {
  constexpr int64_t m = 128, n = 128, depth = 64;
  for (std::string target : {"sm_90a", "sm_80"}) {
    CAPTURE(target);
    Artifact artifact = compiled(Program::trace("across",
                                                [&](Scope &k) {
                                                  if (target == "sm_90a")
                                                    k.require(Requirement::wgmma);
                                                  Global A = k.input("A", f16, {m, depth}),
                                                         B = k.input("B", f16, {2 * depth, n}),
                                                         C = k.output("C", f32, {m, n});
                                                  Shared a = k.shared("a", f16, {m, depth}),
                                                         b = k.shared("b", f16, {2 * depth, n});
                                                  copy(A.tile({0, 0}, {m, depth}), a);
                                                  copy(B.tile({0, 0}, {2 * depth, n}), b);
                                                  for (int64_t part = 0; part < 2; ++part) {
                                                    Fragment acc = k.fragment(f32, {m, n / 2});
                                                    gemm(a, b.rows(depth, depth).columns(part * 64, 64), acc);
                                                    copy(acc, C.tile({0, part * 64}, {m, n / 2}));
                                                  }
                                                }),
                                 compilingFor(target));
    Memory a = numbers(f16, {m, depth}, 0), b = numbers(f16, {2 * depth, n}, 5);
    Memory c = Memory::filled(f32, {m, n}, 99);
    run(artifact, {&a, &b, &c});
    CHECK(countWrong(
              c, depth, [&](int64_t row, int64_t at) { return a.at({row, at}); },
              [&](int64_t at, int64_t column) { return b.at({at + depth, column}); }) == 0);
  }
}

TEST_CASE("copies of columns that end within a panel leave what is after them", "[tile-parts]") {
  constexpr int64_t rows = 21;
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {i8, bf16, f32}) {
      CAPTURE(target, toString(type));
      const int64_t panel = panelOf(type), part = panel + panel / 8, all = 2 * panel;
      Artifact artifact = compiled(
          Program::trace("within",
                         [&](Scope &k) {
                           Index m = k.dim("m");
                           Global A = k.input("A", type, {m, part}), B = k.input("B", type, {m, all}),
                                  C = k.output("C", type, {m, part}), D = k.output("D", type, {m, all});
                           auto [block] = k.grid(ceilDiv(m, 16));
                           Shared a = k.shared("a", type, {16, all}), b = k.shared("b", type, {16, all});
                           copy(B.tile({block * 16, 0}, {16, all}), b);
                           copy(b, a);
                           copy(A.tile({block * 16, 0}, {16, part}), a.columns(0, part));
                           copy(a, D.tile({block * 16, 0}, {16, all}));
                           copy(b.columns(0, part), C.tile({block * 16, 0}, {16, part}));
                         }),
          compilingFor(target));
      Memory a = numbers(type, {rows, part}, 0), b = numbers(type, {rows, all}, 5);
      Memory c = Memory::filled(type, {rows, part}, 99), d = Memory::filled(type, {rows, all}, 99);
      run(artifact, {&a, &b, &c, &d});
      int64_t wrong = 0;
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < all; ++column) {
          wrong += d.at({row, column}) != (column < part ? a : b).at({row, column});
          wrong += column < part && c.at({row, column}) != b.at({row, column});
        }
      CHECK(wrong == 0);
    }
}

TEST_CASE("products of columns that end within a panel", "[tile-parts]") {
  constexpr int64_t m = 128, n = 72, all = 128, depth = 80, keys = 32;
  for (std::string target : {"sm_90a", "sm_80"})
    for (bool isTransposed : {false, true}) {
      CAPTURE(target, isTransposed);
      const int64_t rows = isTransposed ? n : keys;
      Artifact artifact = compiled(
          Program::trace("products_within",
                         [&](Scope &k) {
                           if (target == "sm_90a")
                             k.require(Requirement::wgmma);
                           Global A = k.input("A", bf16, {m, all}), B = k.input("B", bf16, {rows, all}),
                                  C = k.output("C", f32, {m, n});
                           Shared a = k.shared("a", bf16, {m, all}), b = k.shared("b", bf16, {rows, all});
                           Fragment acc = k.fragment(f32, {m, n});
                           copy(A.tile({0, 0}, {m, all}), a);
                           copy(B.tile({0, 0}, {rows, all}), b);
                           if (isTransposed) // along the summed axis; otherwise along the columns of C
                             gemm(a.columns(0, depth), b.columns(0, depth).t(), acc);
                           else
                             gemm(a.columns(64, keys), b.columns(0, n), acc);
                           copy(acc, C.tile({0, 0}, {m, n}));
                         }),
          compilingFor(target));
      Memory a = numbers(bf16, {m, all}, 0), b = numbers(bf16, {rows, all}, 5);
      Memory c = Memory::filled(f32, {m, n}, 99);
      run(artifact, {&a, &b, &c});
      CHECK(countWrong(
                c, isTransposed ? depth : keys,
                [&](int64_t row, int64_t at) { return a.at({row, isTransposed ? at : 64 + at}); },
                [&](int64_t at, int64_t column) {
                  return isTransposed ? b.at({column, at}) : b.at({at, column});
                }) == 0);
    }
}

TEST_CASE("the TMA fills and stores parts of a slot", "[tile-parts]") {
  constexpr int64_t rows = 70, panel = 64;
  Artifact artifact = compiled(Program::trace("slots", [&](Scope &k) {
    Index m = k.dim("m");
    Global A = k.input("A", bf16, {m, panel}, {.alignment = 16}),
           B = k.input("B", bf16, {m, panel}, {.alignment = 16});
    Global C = k.output("C", bf16, {m, 2 * panel}, {.alignment = 16});
    Shared tile = k.shared("tile", bf16, {16, 2 * panel}, {.slots = 2}),
           out = k.shared("out", bf16, {16, 2 * panel});
    Channel loaded = k.channel("tiles", {.slots = 2});
    Index steps = ceilDiv(m, 16);
    k.roles([&] {
      k.role("use", {.warps = 4}, [&] {
        k.loop(steps, [&](Index i) {
          Fragment x = k.fragment(bf16, {16, panel});
          Slot at = loaded.get();
          for (int64_t part : {0, 1}) {
            copy(tile.slot(at).columns(part * panel, panel), x);
            copy(x, out.columns((1 - part) * panel, panel));
          }
          loaded.release();
          copy(out, C.tile({i * 16, 0}, {16, 2 * panel}));
        });
      });
      k.role("load", {.warps = 1}, [&] {
        k.loop(steps, [&](Index i) {
          loaded.put([&](const Slot &at) {
            copy(A.tile({i * 16, 0}, {16, panel}), tile.slot(at).columns(0, panel));
            copy(B.tile({i * 16, 0}, {16, panel}), tile.slot(at).columns(panel, panel));
          });
        });
      });
    });
  }));
  Memory a = numbers(bf16, {rows, panel}, 0), b = numbers(bf16, {rows, panel}, 5);
  Memory c = Memory::filled(bf16, {rows, 2 * panel}, 99);
  run(artifact, {&a, &b, &c});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < panel; ++column) {
      CAPTURE(row, column);
      REQUIRE(c.at({row, column}) == b.at({row, column}));
      REQUIRE(c.at({row, column + panel}) == a.at({row, column}));
    }
}
