// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared memory of other blocks of a cluster.
#include "test/docs/Run.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

// [cluster-tile]
/// Cumulative sums of rows, each of which the blocks of a cluster share.
Program cumulativeRows() {
  constexpr int64_t blocks = 4, rows = 8, columns = 128;
  return Program::trace("cumulative_rows", [&](Scope &k) {
    Index m = k.dim("m"), part = k.blockRank();
    Global X = k.input("X", f32, {m, blocks * columns}), Y = k.output("Y", f32, {m, blocks * columns});
    k.cluster(blocks);
    auto [block] = k.grid(ceilDiv(m, rows) * blocks);
    Index row = block / blocks * rows;
    Shared total = k.shared("total", f32, {rows, 1});
    Fragment x = k.fragment(f32, {rows, columns});
    Fragment before = k.fragment(f32, {rows, 1}), one = k.fragment(f32, {rows, 1});
    copy(X.tile({row, part * columns}, {rows, columns}), x);
    copy(rowSum(x), total);
    k.loop(part, [&](Index other) {
      copy(total.of(other), one);
      before += one;
    });
    copy(cumulative(Reduction::sum, x, 1) + before, Y.tile({row, part * columns}, {rows, columns}));
  });
}
// [cluster-tile]

// [cluster-sum]
/// Rows divided by their sums, each of which the blocks of a cluster share.
Program dividedRows() {
  constexpr int64_t blocks = 2, rows = 8, columns = 256;
  return Program::trace("divided_rows", [&](Scope &k) {
    Index m = k.dim("m"), part = k.blockRank();
    Global X = k.input("X", f32, {m, blocks * columns}), Y = k.output("Y", f32, {m, blocks * columns});
    k.cluster(blocks);
    auto [block] = k.grid(ceilDiv(m, rows) * blocks);
    Index row = block / blocks * rows;
    Fragment x = k.fragment(f32, {rows, columns});
    copy(X.tile({row, part * columns}, {rows, columns}), x);
    copy(x / clusterSum(rowSum(x)), Y.tile({row, part * columns}, {rows, columns}));
  });
}
// [cluster-sum]

} // namespace

TEST_CASE("blocks of a cluster read each other's tiles", "[docs]") {
  for (int64_t m : {1, 19}) {
    Run run(cumulativeRows(), {{"m", m}});
    const Array &x = run.before("X");
    checkMatrix(run.after("Y"), 1e-4, [&](int64_t i, int64_t j) {
      double sum = 0;
      for (int64_t at = 0; at <= j; ++at)
        sum += x(i, at);
      return sum;
    });
  }
}

TEST_CASE("sums over a cluster", "[docs]") {
  Run run(dividedRows(), {{"m", 11}});
  const Array &x = run.before("X"), &y = run.after("Y");
  for (int64_t i = 0; i < 11; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < x.shape[1]; ++j)
      sum += x(i, j);
    for (int64_t j = 0; j < x.shape[1]; ++j)
      CHECK(y(i, j) * sum == Approx(x(i, j)).margin(1e-3));
  }
}
