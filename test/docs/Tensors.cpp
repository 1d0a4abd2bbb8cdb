// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where tensors lie, and what L2 keeps of them.
#include "test/docs/Run.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

// [hints]
/// Y = X Wᵀ for few rows of X: each block reads its rows of W once, and all blocks read X.
Program narrowProduct() {
  return Program::trace("narrow_product", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global X = k.input("X", bf16, {m, depth}), W = k.input("W", bf16, {n, depth});
    Global Y = k.output("Y", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64));
    Shared x = k.shared("x", bf16, {64, 64}), w = k.shared("w", bf16, {64, 64});
    Fragment acc = k.fragment(f32, {64, 64});
    k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&, i = i, j = j](Index s) {
      copy(X.tile({i * 64, s * 64}, {64, 64}).evict(Eviction::last), x);
      copy(W.tile({j * 64, s * 64}, {64, 64}).evict(Eviction::first), w);
      gemm(x, w.t(), acc);
    });
    copy(acc, Y.tile({i * 64, j * 64}, {64, 64}).evict(Eviction::first));
  });
}
// [hints]

// [strides]
/// Y = X with the columns of every row summed up to there; the elements of X may lie anyhow.
Program sumsOfAny() {
  return Program::trace("sums_of_any", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global X = k.input("X", f32, {m, n}, {.lastStride = LastStride::any}), Y = k.output("Y", f32, {m, n});
    auto [block] = k.grid(ceilDiv(m, 16));
    Fragment before = k.fragment(f32, {16, 1});
    k.loop(ceilDiv(n, 64), [&, block = block](Index j) {
      Fragment x = k.fragment(f32, {16, 64});
      copy(X.tile({block * 16, j * 64}, {16, 64}), x);
      copy(cumulative(Reduction::sum, x, 1) + before, Y.tile({block * 16, j * 64}, {16, 64}));
      before = before + rowSum(x);
    });
  });
}
// [strides]

} // namespace

TEST_CASE("a product says what L2 should keep", "[docs]") {
  Run run(narrowProduct(), {{"m", 70}, {"n", 129}, {"k", 200}});
  const Array &x = run.before("X"), &w = run.before("W");
  checkMatrix(run.after("Y"), 1e-5, [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < 200; ++k)
      sum += x(i, k) * w(j, k);
    return sum;
  });
}

TEST_CASE("sums along rows of a tensor with any strides", "[docs]") {
  Run run(sumsOfAny(), {{"m", 21}, {"n", 77}});
  checkMatrix(run.after("Y"), 1e-5, [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t column = 0; column <= j; ++column)
      sum += run.before("X")(i, column);
    return sum;
  });
}
