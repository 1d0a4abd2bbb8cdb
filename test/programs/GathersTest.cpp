// SPDX-License-Identifier: Apache-2.0
/// \file
/// Positions per element along several axes, of any rank: loads, stores and atomic operations of tensors and
/// of shared tiles.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

const std::vector<std::string> targets = {"sm_80", "sm_90a", "sm_100a"};

Memory numbers(ElementType type, std::vector<int64_t> shape) {
  Memory memory = Memory::filled(type, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double((i * 37 + 5) % 101) - 50;
  return memory;
}

/// Numbers of i32 from -1 to `extent`, which are just outside.
Memory positions(std::vector<int64_t> shape, int64_t extent, int64_t factor) {
  Memory memory = Memory::filled(i32, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double(int64_t(i) * factor % (extent + 2) - 1);
  return memory;
}

/// The element, or `outside` where there is none.
double elementOr(Memory &x, const std::vector<int64_t> &position, double outside) {
  for (size_t axis = 0; axis < position.size(); ++axis)
    if (position[axis] < 0 || position[axis] >= x.shape[axis])
      return outside;
  return x.at(position);
}

} // namespace

TEST_CASE("one position per element along two axes, and along one of any rank", "[gathers]") {
  constexpr int64_t rows = 29, columns = 43, m = 19, n = 13, limit = 40;
  for (const std::string &target : targets)
    for (ElementType type : {i8, bf16, f32, i64}) {
      CAPTURE(target, toString(type));
      Artifact artifact = compiled(
          Program::trace("elements",
                         [&](Scope &k) {
                           Index height = k.dim("rows"), width = k.dim("columns"), all = k.dim("all");
                           Global X = k.input("X", type, {height, width}), V = k.input("V", type, {all}),
                                  P = k.input("P", i32, {m, n}), Q = k.input("Q", i32, {m, n}),
                                  R = k.input("R", i32, {m, n});
                           Global Y = k.output("Y", type, {m, n}), Z = k.output("Z", type, {m, n}),
                                  W = k.output("W", type, {m, n});
                           Fragment p = k.fragment(i32, {m, n}), q = k.fragment(i32, {m, n}),
                                    r = k.fragment(i32, {m, n}), row = k.fragment(i32, {m, 1}),
                                    column = k.fragment(i32, {1, n}), y = k.fragment(type, {m, n}),
                                    z = k.fragment(type, {m, n}), w = k.fragment(type, {m, n});
                           copy(P.tile({0, 0}, {m, n}), p);
                           copy(Q.tile({0, 0}, {m, n}), q);
                           copy(R.tile({0, 0}, {m, n}), r);
                           copy(P.tile({0, 0}, {m, 1}), row);
                           copy(Q.tile({0, 0}, {1, n}), column);
                           copy(X.tile({p.toIndex(), q.toIndex()}, {m, n}).fill(3).limited(1, limit), y);
                           copy(X.tile({row.toIndex(), column.toIndex()}, {m, n}).fill(4), z);
                           copy(V.tile({r.toIndex()}, {m, n}).fill(5), w);
                           copy(y, Y.tile({0, 0}, {m, n}));
                           copy(z, Z.tile({0, 0}, {m, n}));
                           copy(w, W.tile({0, 0}, {m, n}));
                         }),
          compilingFor(target));
      Memory x = numbers(type, {rows, columns}), v = numbers(type, {rows * columns}),
             p = positions({m, n}, rows, 7), q = positions({m, n}, columns, 11),
             r = positions({m, n}, rows * columns, 577), y = Memory::filled(type, {m, n}, 99), z = y, w = y;
      run(artifact, {&x, &v, &p, &q, &r, &y, &z, &w});
      int64_t wrong = 0;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const auto row = int64_t(p.at({i, j})), column = int64_t(q.at({i, j}));
          wrong += y.at({i, j}) != (column < limit ? elementOr(x, {row, column}, 3) : 3);
          wrong += z.at({i, j}) != elementOr(x, {int64_t(p.at({i, 0})), int64_t(q.at({0, j}))}, 4);
          wrong += w.at({i, j}) != elementOr(v, {int64_t(r.at({i, j}))}, 5);
        }
      CHECK(wrong == 0);
    }
}

TEST_CASE("rows that two positions name, and elements of one of several matrices", "[gathers]") {
  constexpr int64_t pages = 5, rows = 21, columns = 48, m = 17, n = 9, page = 3;
  for (const std::string &target : targets)
    for (ElementType type : {f16, f32}) {
      CAPTURE(target, toString(type));
      Artifact artifact =
          compiled(Program::trace("rows",
                                  [&](Scope &k) {
                                    Global X = k.input("X", type, {pages, k.dim("rows"), columns}),
                                           P = k.input("P", i32, {m}), Q = k.input("Q", i32, {m}),
                                           R = k.input("R", i32, {m, n});
                                    Global Y = k.output("Y", type, {m, 32}),
                                           Z = k.output("Z", type, {m, n, 8}),
                                           W = k.output("W", type, {m, n});
                                    Fragment p = k.fragment(i32, {m, 1}), q = k.fragment(i32, {m, 1}),
                                             r = k.fragment(i32, {m, n}), each = k.fragment(i32, {m, n, 1}),
                                             y = k.fragment(type, {m, 32}), z = k.fragment(type, {m, n, 8}),
                                             w = k.fragment(type, {m, n});
                                    copy(P.tile({0}, {m}), p);
                                    copy(Q.tile({0}, {m}), q);
                                    copy(R.tile({0, 0}, {m, n}), r);
                                    copy(R.tile({0, 0}, {m, n}), each);
                                    copy(X.tile({p.toIndex(), q.toIndex(), 16}, {m, 32}).fill(3), y);
                                    copy(X.tile({page, each.toIndex(), 42}, {1, m, n, 8}).fill(4), z);
                                    copy(X.tile({page, r.toIndex(), 7}, {1, m, n, 1}).fill(5), w);
                                    copy(y, Y.tile({0, 0}, {m, 32}));
                                    copy(z, Z.tile({0, 0, 0}, {m, n, 8}));
                                    copy(w, W.tile({0, 0}, {m, n}));
                                  }),
                   compilingFor(target));
      Memory x = numbers(type, {pages, rows, columns}), p = positions({m}, pages, 3),
             q = positions({m}, rows, 5), r = positions({m, n}, rows, 13),
             y = Memory::filled(type, {m, 32}, 99), z = Memory::filled(type, {m, n, 8}, 99),
             w = Memory::filled(type, {m, n}, 99);
      run(artifact, {&x, &p, &q, &r, &y, &z, &w});
      int64_t wrong = 0;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < 32; ++j)
          wrong += y.at({i, j}) != elementOr(x, {int64_t(p.at({i})), int64_t(q.at({i})), 16 + j}, 3);
        for (int64_t j = 0; j < n; ++j) {
          const auto row = int64_t(r.at({i, j}));
          for (int64_t c = 0; c < 8; ++c)
            wrong += z.at({i, j, c}) != elementOr(x, {page, row, 42 + c}, 4);
          wrong += w.at({i, j}) != elementOr(x, {page, row, 7}, 5);
        }
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("elements of shared tiles by two positions, and written to them", "[gathers]") {
  constexpr int64_t rows = 23, columns = 32, m = 11, n = 21;
  for (const std::string &target : targets)
    for (ElementType type : {u8, bf16, f32, f64}) {
      CAPTURE(target, toString(type));
      Artifact artifact =
          compiled(Program::trace("shared",
                                  [&](Scope &k) {
                                    Global X = k.input("X", type, {rows, columns}),
                                           P = k.input("P", i32, {m, n}), Q = k.input("Q", i32, {m, n});
                                    Global Y = k.output("Y", type, {m, n}),
                                           Z = k.output("Z", type, {rows, columns});
                                    Shared tile = k.shared("tile", type, {rows, columns}),
                                           other = k.shared("other", type, {rows, columns});
                                    copy(X.tile({0, 0}, {rows, columns}), tile);
                                    fill(other, 1);
                                    Fragment p = k.fragment(i32, {m, n}), q = k.fragment(i32, {m, n}),
                                             y = k.fragment(type, {m, n});
                                    copy(P.tile({0, 0}, {m, n}), p);
                                    copy(Q.tile({0, 0}, {m, n}), q);
                                    copy(tile.tile({p.toIndex(), q.toIndex()}, {m, n}).fill(3), y);
                                    copy(y, Y.tile({0, 0}, {m, n}));
                                    // Row i of y is column 30 - i of the tile, upwards; its first element is
                                    // below the tile.
                                    FragmentValue column = 30 - k.positions({m, 1}, 0),
                                                  row = 23 - k.positions({1, n}, 1);
                                    copy(y, other.tile({row.toIndex(), column.toIndex()}, {m, n}));
                                    copy(other, Z.tile({0, 0}, {rows, columns}));
                                  }),
                   compilingFor(target));
      Memory x = numbers(type, {rows, columns}), p = positions({m, n}, rows, 7),
             q = positions({m, n}, columns, 11), y = Memory::filled(type, {m, n}, 99),
             z = Memory::filled(type, {rows, columns}, 99);
      for (double &value : x.values)
        value = std::abs(value);
      run(artifact, {&x, &p, &q, &y, &z});
      Memory expected = Memory::filled(type, {rows, columns}, 1);
      int64_t wrong = 0;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          wrong += y.at({i, j}) != elementOr(x, {int64_t(p.at({i, j})), int64_t(q.at({i, j}))}, 3);
          if (23 - j < rows)
            expected.at({23 - j, 30 - i}) = y.at({i, j});
        }
      CHECK(wrong == 0);
      CHECK(z.values == expected.values);
    }
}

TEST_CASE("pairs of numbers counted and listed, in a tensor and in shared memory", "[gathers]") {
  constexpr int64_t count = 1003, rows = 7, columns = 9, width = 128;
  for (const std::string &target : targets) {
    CAPTURE(target);
    Artifact artifact = compiled(
        Program::trace("pairs",
                       [&](Scope &k) {
                         Index n = k.dim("n");
                         Global A = k.input("A", i32, {n}), B = k.input("B", i32, {n});
                         Global Count = k.inout("Count", i32, {rows, columns}),
                                Largest = k.inout("Largest", i32, {rows, columns}),
                                Place = k.output("Place", i32, {n});
                         Shared largest = k.shared("largest", i32, {rows, columns});
                         fill(largest, -1);
                         auto [block] = k.grid(3);
                         k.loop({block, ceilDiv(n, width), 3}, [&](Index part) {
                           Fragment a = k.fragment(i32, {width}), b = k.fragment(i32, {width}),
                                    place = k.fragment(i32, {width});
                           copy(A.tile({part * width}, {width}).fill(-1), a);
                           copy(B.tile({part * width}, {width}).fill(-1), b);
                           atomicAdd(1, Count.tile({a.toIndex(), b.toIndex()}, {width}).fill(-7), place);
                           copy(place, Place.tile({part * width}, {width}));
                           FragmentValue number = k.positions({width}, 0) + (part * width).to(i32);
                           atomicMax(number, largest.tile({a.toIndex(), b.toIndex()}, {width}));
                         });
                         Fragment own = k.fragment(i32, {rows, columns});
                         copy(largest, own);
                         atomicMax(own, Largest.tile({0, 0}, {rows, columns}));
                       }),
        compilingFor(target));
    Memory a = positions({count}, rows, 5), b = positions({count}, columns, 7),
           counted = Memory::filled(i32, {rows, columns}, 0),
           largest = Memory::filled(i32, {rows, columns}, -1), place = Memory::filled(i32, {count}, 99),
           expectedCount = counted, expectedLargest = largest;
    run(artifact, {&a, &b, &counted, &largest, &place});
    std::vector<std::vector<double>> places(rows * columns);
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto row = int64_t(a.at({i})), column = int64_t(b.at({i}));
      if (row < 0 || row >= rows || column < 0 || column >= columns) {
        wrong += place.at({i}) != -7; // the fill value
        continue;
      }
      expectedCount.at({row, column}) += 1;
      expectedLargest.at({row, column}) = double(i);
      places[size_t(row * columns + column)].push_back(place.at({i}));
    }
    CHECK(counted.values == expectedCount.values);
    CHECK(largest.values == expectedLargest.values);
    for (std::vector<double> &each : places) { // each place once
      std::ranges::sort(each);
      for (size_t i = 0; i < each.size(); ++i)
        wrong += each[i] != double(i);
    }
    CHECK(wrong == 0);
  }
}
