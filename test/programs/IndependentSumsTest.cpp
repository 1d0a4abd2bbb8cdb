// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plain programs with more than one sum in tensor memory, or more rows than it has lanes: what may be two
/// roles that compute, and what has to stay one because something else than the sums orders it.
#include "compiler/dsl/Counts.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using test::Memory;

namespace {

constexpr int64_t width = 64, bk = 64;

double numberAt(int64_t i, int64_t seed) { return double((i * 7 + i / 5 * 3 + seed) % 5 - 2); }

/// Whole numbers, so that all sums are exact.
Memory numbers(std::vector<int64_t> shape, int64_t seed) {
  Memory memory = Memory::filled(bf16, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = numberAt(int64_t(i), seed);
  return memory;
}

Artifact compileForTcgen05(Program program) {
  return test::compiled(std::move(program), test::compilingFor("sm_100a"));
}

double product(Memory &a, Memory &b, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t e = 0; e < a.shape[1]; ++e)
    sum += a.at({i, e}) * b.at({j, e});
  return sum;
}

/// What a program does with the sums of one tile of rows, of A and B and of A and D.
struct Sums {
  Scope &k;
  Index row; ///< the tile's first
  Fragment &ofB, &ofD;
  Global C, E;
  int64_t rows;
  Global A;
};

/// The tile's rows of C and E, from `k.grid` over tiles of `rows`.
Program sumsOfTiles(int64_t rows, bool two, const std::function<void(Sums)> &store) {
  return Program::trace("sums_of_tiles", [=](Scope &k) {
    Index m = k.dim("m"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {width, depth}),
           D = k.input("D", bf16, {width, depth});
    Global C = k.output("C", f32, {m, width}), E = k.output("E", f32, {m, width});
    auto [i] = k.grid(ceilDiv(m, rows));
    Shared a = k.shared("a", bf16, {rows, bk}), b = k.shared("b", bf16, {width, bk}),
           d = k.shared("d", bf16, {width, bk});
    Fragment ofB = k.fragment(f32, {rows, width}), ofD = k.fragment(f32, {rows, width});
    k.pipelined(ceilDiv(depth, bk), {.stages = 2}, [&, i = i](Index s) {
      copy(A.tile({i * rows, s * bk}, {rows, bk}), a);
      copy(B.tile({0, s * bk}, {width, bk}), b);
      gemm(a, b.t(), ofB);
      if (two) {
        copy(D.tile({0, s * bk}, {width, bk}), d);
        gemm(a, d.t(), ofD);
      }
    });
    store({k, i * rows, ofB, ofD, C, E, rows, A});
  });
}

using Reference = std::function<double(double ofB, double ofD, int64_t i, int64_t j)>;

void check(int64_t rows, bool two, const std::function<void(Sums)> &store, const Reference &ofC,
           const Reference &ofE) {
  for (int64_t m : {rows, 2 * rows - 5}) {
    Memory a = numbers({m, 130}, 1), b = numbers({width, 130}, 2), d = numbers({width, 130}, 3),
           c = Memory::filled(f32, {m, width}, test::notANumber), e = Memory::filled(f32, {m, width}, 0);
    test::run(compileForTcgen05(sumsOfTiles(rows, two, store)), {&a, &b, &d, &c, &e});
    int64_t wrong = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < width; ++j) {
        double x = product(a, b, i, j), y = product(a, d, i, j);
        wrong += c.at({i, j}) != ofC(x, y, i, j);
        wrong += ofE && e.at({i, j}) != ofE(x, y, i, j);
      }
    CHECK(wrong == 0);
  }
}

} // namespace

TEST_CASE("two sums of a loop are computed with by themselves", "[programs][tcgen05]") {
  for (int64_t rows : {64, 128})
    check(
        rows, true,
        [](Sums s) {
          copy(s.ofB * 2.0, s.C.tile({s.row, 0}, {s.rows, width}));
          copy(s.ofD - 1.0, s.E.tile({s.row, 0}, {s.rows, width}));
        },
        [](double x, double, int64_t, int64_t) { return 2 * x; },
        [](double, double y, int64_t, int64_t) { return y - 1; });
}

TEST_CASE("the last store of a sum to an element counts", "[programs][tcgen05]") {
  for (int64_t rows : {64, 128, 192, 256})
    check(
        rows, true,
        [](Sums s) {
          copy(s.ofB, s.C.tile({s.row, 0}, {s.rows, width}));
          copy(s.ofD, s.C.tile({s.row, 0}, {s.rows, width}));
        },
        [](double, double y, int64_t, int64_t) { return y; }, nullptr);
}

TEST_CASE("a sum is added to what another one has stored", "[programs][tcgen05]") {
  for (int64_t rows : {128, 256})
    check(
        rows, true,
        [](Sums s) {
          copy(s.ofB, s.C.tile({s.row, 0}, {s.rows, width}));
          Fragment stored = s.k.fragment(f32, {s.rows, width});
          copy(s.C.tile({s.row, 0}, {s.rows, width}), stored);
          copy(stored + s.ofD, s.C.tile({s.row, 0}, {s.rows, width}));
        },
        [](double x, double y, int64_t, int64_t) { return x + y; }, nullptr);
}

TEST_CASE("rows of one part that another one reads are one role's", "[programs][tcgen05]") {
  check(
      256, false,
      [](Sums s) {
        copy(s.ofB, s.C.tile({s.row, 0}, {s.rows, width}));
        Fragment lower = s.k.fragment(f32, {128, width});
        copy(s.C.tile({s.row + 128, 0}, {128, width}), lower);
        copy(lower, s.E.tile({s.row, 0}, {128, width}));
      },
      [](double x, double, int64_t, int64_t) { return x; }, nullptr);
}

TEST_CASE("each part decides on its own rows", "[programs][tcgen05]") {
  for (int64_t rows : {192, 256})
    check(
        rows, false,
        [](Sums s) {
          Index first = s.row;
          s.k.whenAny(s.ofB > 3.0, [&] { s.ofB = where(s.ofB > 3.0, s.ofB / 2, s.ofB); });
          copy(s.ofB, s.C.tile({first, 0}, {s.rows, width}));
        },
        [](double x, double, int64_t, int64_t) { return x > 3 ? x / 2 : x; }, nullptr);
}

TEST_CASE("positions of rows count from the tile's first one", "[programs][tcgen05]") {
  for (int64_t rows : {192, 256})
    check(
        rows, false,
        [](Sums s) {
          FragmentValue number = s.k.positions({s.rows, width}, 0).to(f32);
          copy(s.ofB + number, s.C.tile({s.row, 0}, {s.rows, width}));
        },
        [rows](double x, double, int64_t i, int64_t) { return x + double(i % rows); }, nullptr);
}

TEST_CASE("the block that comes last sees what all have stored", "[programs][tcgen05]") {
  auto program = Program::trace("last_block", [](Scope &k) {
    constexpr int64_t rows = 128;
    Index m = k.dim("m"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {width, depth}),
           D = k.input("D", bf16, {width, depth});
    Global C = k.output("C", f32, {m, width}), E = k.output("E", f32, {m, width}),
           X = k.output("X", f32, {rows, width});
    Global done = k.workspace("done", i32, {1}, {Initial::zero});
    auto [i] = k.grid(ceilDiv(m, rows));
    Index tile = i;
    Shared a = k.shared("a", bf16, {rows, bk}), b = k.shared("b", bf16, {width, bk}),
           d = k.shared("d", bf16, {width, bk});
    Fragment ofB = k.fragment(f32, {rows, width}), ofD = k.fragment(f32, {rows, width});
    k.pipelined(ceilDiv(depth, bk), {.stages = 2}, [&](Index s) {
      copy(A.tile({tile * rows, s * bk}, {rows, bk}), a);
      copy(B.tile({0, s * bk}, {width, bk}), b);
      copy(D.tile({0, s * bk}, {width, bk}), d);
      gemm(a, b.t(), ofB);
      gemm(a, d.t(), ofD);
    });
    copy(ofB, C.tile({tile * rows, 0}, {rows, width}));
    copy(ofD, E.tile({tile * rows, 0}, {rows, width}));
    Index number = take(done, {0});
    k.when(number == ceilDiv(m, rows) - 1, [&] {
      Fragment first = k.fragment(f32, {rows, width}), second = k.fragment(f32, {rows, width});
      copy(C.tile({0, 0}, {rows, width}), first);
      copy(E.tile({m - rows, 0}, {rows, width}), second);
      copy(first + second, X.tile({0, 0}, {rows, width}));
    });
  });
  constexpr int64_t m = 384;
  Memory a = numbers({m, 64}, 1), b = numbers({width, 64}, 2), d = numbers({width, 64}, 3),
         c = Memory::filled(f32, {m, width}, test::notANumber),
         e = Memory::filled(f32, {m, width}, test::notANumber),
         x = Memory::filled(f32, {128, width}, test::notANumber);
  test::run(compileForTcgen05(std::move(program)), {&a, &b, &d, &c, &e, &x});
  int64_t wrong = 0;
  for (int64_t i = 0; i < 128; ++i)
    for (int64_t j = 0; j < width; ++j)
      wrong += x.at({i, j}) != product(a, b, i, j) + product(a, d, m - 128 + i, j);
  CHECK(wrong == 0);
}

TEST_CASE("a tile is both factors of 256 rows", "[programs][tcgen05]") {
  auto program = Program::trace("square", [](Scope &k) {
    constexpr int64_t rows = 256;
    Global A = k.input("A", bf16, {rows, rows}), C = k.output("C", f32, {rows, rows});
    auto [block] = k.grid(1);
    Shared a = k.shared("a", bf16, {rows, rows});
    Fragment sum = k.fragment(f32, {rows, rows});
    copy(A.tile({0, 0}, {rows, rows}), a);
    gemm(a, a, sum);
    copy(sum, C.tile({0, 0}, {rows, rows}));
  });
  Memory a = numbers({256, 256}, 1), c = Memory::filled(f32, {256, 256}, test::notANumber);
  test::run(compileForTcgen05(std::move(program)), {&a, &c});
  int64_t wrong = 0;
  for (int64_t i = 0; i < 256; ++i)
    for (int64_t j = 0; j < 256; ++j) {
      double sum = 0;
      for (int64_t e = 0; e < 256; ++e)
        sum += a.at({i, e}) * a.at({e, j});
      wrong += c.at({i, j}) != sum;
    }
  CHECK(wrong == 0);
}

TEST_CASE("a tile that is filled again is of one role", "[programs][tcgen05]") {
  check(
      /*rows=*/128, /*two=*/true,
      [](Sums x) {
        Shared t = x.k.shared("t", bf16, {x.rows, width});
        Fragment first = x.k.fragment(bf16, {x.rows, width}), second = x.k.fragment(bf16, {x.rows, width});
        copy(x.A.tile({x.row, 0}, {x.rows, width}), t);
        copy(t, first);
        copy(x.A.tile({x.row, width}, {x.rows, width}), t);
        copy(t, second);
        copy(x.ofB + first.to(f32), x.C.tile({x.row, 0}, {x.rows, width}));
        copy(x.ofD + second.to(f32), x.E.tile({x.row, 0}, {x.rows, width}));
      },
      [](double ofB, double, int64_t i, int64_t j) { return ofB + numberAt(i * 130 + j, 1); },
      [](double, double ofD, int64_t i, int64_t j) { return ofD + numberAt(i * 130 + width + j, 1); });
}
