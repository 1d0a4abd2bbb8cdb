// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops over tiles by clusters that have more blocks than tiles are left: the body counts for every tile,
/// once.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

TEST_CASE("what the blocks of a cluster do counts for tiles that exist", "[cluster-tiles]") {
  auto [axis, rows, columns] = GENERATE(table<ClusterAxis, int64_t, int64_t>({{ClusterAxis::rows, 3, 2},
                                                                              {ClusterAxis::rows, 1, 1},
                                                                              {ClusterAxis::columns, 3, 1},
                                                                              {ClusterAxis::columns, 2, 5},
                                                                              {ClusterAxis::rows, 4, 3}}));
  CAPTURE(int(axis), rows, columns);
  Artifact artifact = compiled(Program::trace("tiles", [&, axis = axis](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global X = k.input("X", f32, {m, n}), Y = k.output("Y", f32, {m, n});
    Global visits = k.inout("visits", i32, {1}), last = k.inout("last", i32, {m, 2}),
           row = k.output("row", f32, {m});
    k.cluster(2);
    Fragment count = k.fragment(i32, {1, 1});
    k.persistent({m, n}, {.cluster = axis}, [&](Index i, Index j) {
      Fragment x = k.fragment(f32, {1, 1});
      copy(X.tile({i, j}, {1, 1}).unchecked("tiles are inside"), x);
      copy(x * 2, Y.tile({i, j}, {1, 1}).unchecked("tiles are inside"));
      atomicAdd(k.fragment(i32, {1}, 1), visits.tile({0}, {1}));
      count += 1;
      k.when(j == 0, [&] { copy(x, row.tile({i}, {1}).unchecked("rows are inside")); });
    });
    atomicAdd(count, last.tile({0, 1}, {1, 1}));
  }));
  Memory x = Memory::filled(f32, {rows, columns}, 0), y = Memory::filled(f32, {rows, columns}, notANumber);
  Memory visits = Memory::filled(i32, {1}, 0), last = Memory::filled(i32, {rows, 2}, 0),
         row = Memory::filled(f32, {rows}, notANumber);
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = double(i + 1);
  run(artifact, {&x, &y, &visits, &last, &row});
  CHECK(visits.values[0] == double(rows * columns));
  CHECK(last.at({0, 1}) == double(rows * columns));
  for (size_t i = 0; i < x.values.size(); ++i)
    CHECK(y.values[i] == 2 * x.values[i]);
  for (int64_t i = 0; i < rows; ++i)
    CHECK(row.at({i}) == x.at({i, 0}));
}

TEST_CASE("shared copies of a cluster, stored where tiles exist", "[cluster-tiles]") {
  constexpr int64_t m = 192, n = 64, depth = 128; // three tiles along the cluster's axis
  Artifact artifact = compiled(Program::trace("product", [](Scope &k) {
    Index rows = k.dim("m"), columns = k.dim("n"), d = k.dim("k");
    Global A = k.input("A", bf16, {rows, d}), B = k.input("B", bf16, {columns, d});
    Global C = k.output("C", f32, {rows, columns}), sum = k.inout("sum", f32, {64, columns});
    k.cluster(2);
    k.persistent({ceilDiv(rows, 64), ceilDiv(columns, 64)}, {}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {64, 64}), b = k.shared("b", bf16, {64, 64});
      Fragment c = k.fragment(f32, {64, 64}, 0);
      k.pipelined(ceilDiv(d, 64), {.stages = 2}, [&](Index s) {
        copy(A.tile({i * 64, s * 64}, {64, 64}), a);
        copy(B.tile({j * 64, s * 64}, {64, 64}), b);
        gemm(a, b.t(), c);
      });
      copy(c, C.tile({i * 64, j * 64}, {64, 64}));
      atomicAdd(c + 1, sum.tile({0, j * 64}, {64, 64})); // once for every tile
    });
  }));
  Memory a = Memory::filled(bf16, {m, depth}, 0), b = Memory::filled(bf16, {n, depth}, 0);
  Memory c = Memory::filled(f32, {m, n}, notANumber), sum = Memory::filled(f32, {64, n}, 0);
  for (size_t i = 0; i < a.values.size(); ++i)
    a.values[i] = double(i % 5) - 2;
  for (size_t i = 0; i < b.values.size(); ++i)
    b.values[i] = double(i % 3) - 1;
  run(artifact, {&a, &b, &c, &sum});
  int64_t wrong = 0;
  for (int64_t row = 0; row < 64; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double total = 0;
      for (int64_t tile = 0; tile < 3; ++tile) {
        double product = 0;
        for (int64_t at = 0; at < depth; ++at)
          product += a.at({tile * 64 + row, at}) * b.at({column, at});
        wrong += c.at({tile * 64 + row, column}) != product;
        total += product + 1;
      }
      wrong += sum.at({row, column}) != total;
    }
  CHECK(wrong == 0);
}
