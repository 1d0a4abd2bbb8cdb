// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shapes and options for which compilers gave wrong numbers.
#include "test/docs/Run.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

/// Of sums of products of bf16 numbers, in f32.
constexpr double exact = 1e-5;

/// Row i of A times row j of B.
double dot(const Array &a, const Array &b, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t s = 0; s < a.shape[1]; ++s)
    sum += a(i, s) * b(j, s);
  return sum;
}

/// C = A Bᵀ in tiles of m x n x k.
struct Tiles {
  int64_t m = 64, n = 64, k = 64, warps = 4;
  WarpPolicy policy = WarpPolicy::fullRow;
};
Program product(const Tiles &tiles, std::optional<Requirement> requirement) {
  return Program::trace("product", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
    Global C = k.output("C", f32, {m, n});
    if (requirement)
      k.require(*requirement);
    else
      k.warps(tiles.warps);
    auto [i, j] = k.grid(ceilDiv(m, tiles.m), ceilDiv(n, tiles.n));
    Shared a = k.shared("a", bf16, {tiles.m, tiles.k}), b = k.shared("b", bf16, {tiles.n, tiles.k});
    Fragment acc = k.fragment(f32, {tiles.m, tiles.n}).named("acc");
    k.pipelined(ceilDiv(depth, tiles.k), {.stages = 2}, [&](Index s) {
      copy(A.tile({i * tiles.m, s * tiles.k}, {tiles.m, tiles.k}), a);
      copy(B.tile({j * tiles.n, s * tiles.k}, {tiles.n, tiles.k}), b);
      gemm(a, b.t(), acc, tiles.policy);
    });
    copy(acc, C.tile({i * tiles.m, j * tiles.n}, {tiles.m, tiles.n}));
  });
}

void checkProduct(const Tiles &tiles, std::optional<Requirement> requirement = {}) {
  INFO("tiles of " << tiles.m << " x " << tiles.n << " x " << tiles.k << ", " << tiles.warps << " warps");
  const Run run(product(tiles, requirement),
                {{"m", tiles.m + 8}, {"n", tiles.n + 8}, {"k", 2 * tiles.k + 8}});
  checkMatrix(run.after("C"), exact,
              [&](int64_t i, int64_t j) { return dot(run.before("A"), run.before("B"), i, j); });
}

} // namespace

TEST_CASE("tl#2443: copies of one axis in front of roles are whole") {
  for (bool throughShared : {false, true}) {
    const Run run(Program::trace("with_bias",
                                 [&](Scope &k) {
                                   Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
                                   Global A = k.input("A", bf16, {m, depth}),
                                          B = k.input("B", bf16, {n, depth});
                                   Global Bias = k.input("Bias", f32, {n}), C = k.output("C", f32, {m, n});
                                   k.require(Requirement::warpSpecialized);
                                   auto [i, j] = k.grid(ceilDiv(m, 64), ceilDiv(n, 96));
                                   Shared a = k.shared("a", bf16, {64, 64}),
                                          b = k.shared("b", bf16, {96, 64});
                                   Fragment acc = k.fragment(f32, {64, 96}), bias = k.fragment(f32, {1, 96});
                                   if (throughShared) {
                                     Shared tile = k.shared("bias", f32, {96});
                                     copy(Bias.tile({j * 96}, {96}), tile);
                                     copy(tile, bias);
                                   } else {
                                     copy(Bias.tile({j * 96}, {96}), bias);
                                   }
                                   k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&](Index s) {
                                     copy(A.tile({i * 64, s * 64}, {64, 64}), a);
                                     copy(B.tile({j * 96, s * 64}, {96, 64}), b);
                                     gemm(a, b.t(), acc);
                                   });
                                   copy(acc + bias, C.tile({i * 64, j * 96}, {64, 96}));
                                 }),
                  {{"m", 100}, {"n", 200}, {"k", 136}});
    checkMatrix(run.after("C"), exact, [&](int64_t i, int64_t j) {
      return dot(run.before("A"), run.before("B"), i, j) + run.before("Bias")(j);
    });
  }
}

TEST_CASE("tl#2593: products of 8 columns more than a multiple of 16") {
  for (int64_t n : {8, 24, 40, 72, 136, 248})
    checkProduct({.n = n}, Requirement::wgmma);
}

TEST_CASE("tl#2522: every policy deals every row to one warp, for any number of warps") {
  for (WarpPolicy policy : {WarpPolicy::fullRow, WarpPolicy::fullColumn, WarpPolicy::square})
    for (int64_t warps : {4, 12})
      for (int64_t m : {64, 192})
        checkProduct({.m = m, .n = 96, .warps = warps, .policy = policy});
}

TEST_CASE("tl#2381: a step along k that no instruction divides loses nothing") {
  for (int64_t k : {8, 24, 40, 72})
    checkProduct({.k = k});
}

TEST_CASE("tl#2408: reductions count every element once, however it is replicated") {
  // Rows are few, so that threads hold copies of their sums.
  for (int64_t warps : {1, 4, 8})
    for (int64_t rows : {1, 2, 16, 40}) {
      INFO(warps << " warps, " << rows << " rows");
      const Run run(Program::trace("sums",
                                   [&](Scope &k) {
                                     Index n = k.dim("n");
                                     Global X = k.input("X", f32, {n, rows, 40});
                                     Global Rows = k.inout("Rows", f32, {n, rows}),
                                            All = k.inout("All", f32, {1});
                                     Global Columns = k.output("Columns", f32, {n, 40});
                                     k.warps(warps);
                                     auto [i] = k.grid(n);
                                     Fragment x = k.fragment(f32, {rows, 40});
                                     copy(X.tile({i, 0, 0}, {1, rows, 40}), x);
                                     FragmentValue sums = rowSum(x);
                                     atomicAdd(sums, Rows.tile({i, 0}, {1, rows}));
                                     atomicAdd(reduce(Reduction::sum, sums, 0), All.tile({0}, {1}));
                                     copy(reduce(Reduction::max, x, 0), Columns.tile({i, 0}, {1, 40}));
                                   }),
                    {{"n", 3}});
      const Array &x = run.before("X");
      const auto at = [&](int64_t i, int64_t r, int64_t c) {
        return x.values[size_t((i * rows + r) * 40 + c)];
      };
      double all = run.before("All")(0);
      checkMatrix(run.after("Rows"), exact, [&](int64_t i, int64_t r) {
        double sum = 0;
        for (int64_t c = 0; c < 40; ++c)
          sum += at(i, r, c);
        all += sum;
        return run.before("Rows")(i, r) + sum;
      });
      checkVector(run.after("All"), 1e-4, [&](int64_t) { return all; });
      checkMatrix(run.after("Columns"), 0, [&](int64_t i, int64_t c) {
        double most = at(i, 0, c);
        for (int64_t r = 1; r < rows; ++r)
          most = std::max(most, at(i, r, c));
        return most;
      });
    }
}

TEST_CASE("tl#1105: an atomic sum takes every element of a tile, not only those of one thread") {
  const Run run(Program::trace("atomic_tile",
                               [](Scope &k) {
                                 Index rows = k.dim("rows"), columns = k.dim("columns");
                                 Global X = k.input("X", f32, {rows, columns});
                                 Global Y = k.inout("Y", f32, {32, columns});
                                 auto [i, j] = k.grid(ceilDiv(rows, 32), ceilDiv(columns, 128));
                                 Fragment x = k.fragment(f32, {32, 128});
                                 copy(X.tile({i * 32, j * 128}, {32, 128}), x);
                                 atomicAdd(x, Y.tile({0, j * 128}, {32, 128}));
                               }),
                {{"rows", 96}, {"columns", 200}});
  checkMatrix(run.after("Y"), exact, [&](int64_t i, int64_t j) {
    const Array &x = run.before("X");
    return run.before("Y")(i, j) + x(i, j) + x(i + 32, j) + x(i + 64, j);
  });
}

TEST_CASE("tl#2525: stores of one axis end and begin anywhere") {
  for (int64_t offset : {0, 1, 8})
    for (int64_t n : {1, 7, 256, 1000}) {
      INFO("offset " << offset << ", " << n << " elements");
      const Run run(Program::trace("shifted",
                                   [&](Scope &k) {
                                     Index n = k.dim("n");
                                     Global X = k.input("X", bf16, {n}), Y = k.inout("Y", bf16, {n});
                                     auto [i] = k.grid(ceilDiv(n, 256));
                                     Shared tile = k.shared("tile", bf16, {256});
                                     copy(X.tile({i * 256}, {256}), tile);
                                     copy(tile, Y.tile({i * 256 + offset}, {256}));
                                   }),
                    {{"n", n}});
      checkVector(run.after("Y"), 0,
                  [&](int64_t i) { return i < offset ? run.before("Y")(i) : run.before("X")(i - offset); });
    }
}

TEST_CASE("tl#2543: what reads outside of a tensor gives reaches every kind of copy") {
  // By the TMA where it can, into shared memory for products, and into registers.
  for (float outside : {0.f, 2.f})
    for (bool specialized : {false, true}) {
      INFO(outside << " outside, " << (specialized ? "with roles" : "without"));
      const Run run(Program::trace("filled",
                                   [&](Scope &k) {
                                     Index m = k.dim("m"), depth = k.dim("k");
                                     Global A = k.input("A", bf16, {m, depth}),
                                            C = k.output("C", f32, {m, 64});
                                     auto [i] = k.grid(ceilDiv(m, 64));
                                     Shared a = k.shared("a", bf16, {64, 64}),
                                            ones = k.shared("ones", bf16, {64, 64});
                                     Fragment acc = k.fragment(f32, {64, 64});
                                     fill(ones, 1);
                                     const auto body = [&](Index s) {
                                       copy(A.tile({i * 64, s * 64}, {64, 64}).fill(outside), a);
                                       gemm(a, ones, acc);
                                     };
                                     if (specialized)
                                       k.pipelined(ceilDiv(depth, 64), {.stages = 2}, body);
                                     else
                                       k.loop(ceilDiv(depth, 64), body);
                                     copy(acc, C.tile({i * 64, 0}, {64, 64}));
                                   }),
                    {{"m", 72}, {"k", 72}});
      checkMatrix(run.after("C"), exact, [&](int64_t i, int64_t) {
        double sum = 56 * double(outside);
        for (int64_t s = 0; s < 72; ++s)
          sum += run.before("A")(i, s);
        return sum;
      });
    }
  const Run run(Program::trace("filled_registers",
                               [](Scope &k) {
                                 Index n = k.dim("n");
                                 Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {1});
                                 auto [block] = k.grid(1);
                                 Fragment x = k.fragment(f32, {1, 512});
                                 copy(X.tile({block * 512 - 6}, {512}).fill(3), x);
                                 copy(rowSum(x), Y.tile({0}, {1}));
                               }),
                {{"n", 500}});
  checkVector(run.after("Y"), exact, [&](int64_t) {
    double sum = 12 * 3;
    for (double x : run.before("X").values)
      sum += x;
    return sum;
  });
}

TEST_CASE("tl#2562: tiles with fewer elements than a warp has lanes are written") {
  for (int64_t rows : {1, 2, 3})
    for (int64_t columns : {1, 2, 5, 9}) {
      INFO("tiles of " << rows << " x " << columns);
      const Run run(Program::trace("few",
                                   [&](Scope &k) {
                                     Index n = k.dim("n");
                                     Global X = k.input("X", f32, {n, columns}),
                                            Y = k.output("Y", f32, {n, columns});
                                     Global Sum = k.output("Sum", f32, {n});
                                     k.warps(1);
                                     auto [i] = k.grid(ceilDiv(n, rows));
                                     Shared tile = k.shared("tile", f32, {rows, columns});
                                     Fragment x = k.fragment(f32, {rows, columns});
                                     copy(X.tile({i * rows, 0}, {rows, columns}), tile);
                                     copy(tile, x);
                                     copy(x * 2, Y.tile({i * rows, 0}, {rows, columns}));
                                     copy(rowSum(x), Sum.tile({i * rows}, {rows}));
                                   }),
                    {{"n", 7}});
      const Array &x = run.before("X");
      checkMatrix(run.after("Y"), 0, [&](int64_t i, int64_t j) { return 2 * x(i, j); });
      checkVector(run.after("Sum"), exact, [&](int64_t i) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j)
          sum += x(i, j);
        return sum;
      });
    }
}

TEST_CASE("tl#2581: tiles of any width keep their pitch in shared memory") {
  for (int64_t columns : {24, 40, 72, 160}) {
    INFO(columns << " columns");
    const Run run(Program::trace("pitch",
                                 [&](Scope &k) {
                                   Index n = k.dim("n");
                                   Global X = k.input("X", bf16, {n, columns}),
                                          Y = k.output("Y", bf16, {columns, n});
                                   Global Z = k.output("Z", bf16, {n, columns});
                                   auto [i] = k.grid(ceilDiv(n, 48));
                                   Shared tile = k.shared("tile", bf16, {48, columns});
                                   copy(X.tile({i * 48, 0}, {48, columns}), tile);
                                   copy(tile, Z.tile({i * 48, 0}, {48, columns}));
                                   Fragment x = k.fragment(bf16, {columns, 48});
                                   copy(tile.t(), x);
                                   copy(x, Y.tile({0, i * 48}, {columns, 48}));
                                 }),
                  {{"n", 100}});
    checkMatrix(run.after("Y"), 0, [&](int64_t i, int64_t j) { return run.before("X")(j, i); });
    checkMatrix(run.after("Z"), 0, [&](int64_t i, int64_t j) { return run.before("X")(i, j); });
  }
}
