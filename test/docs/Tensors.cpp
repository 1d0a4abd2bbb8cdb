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

// [addresses]
/// C[g] = A[g] B[g]ᵀ for matrices of any sizes, m[g] x k[g] and n[g] x k[g], that lie anywhere.
Program groupedProducts() {
  return Program::trace("grouped_products", [](Scope &k) {
    Index groups = k.dim("groups");
    Addresses A = k.addresses("A", bf16, groups, {.alignment = 16}),
              B = k.addresses("B", bf16, groups, {.alignment = 16}),
              C = k.addresses("C", f32, groups, {.use = TensorUse::output});
    Global M = k.input("M", i32, {groups}), N = k.input("N", i32, {groups}), K = k.input("K", i32, {groups});
    auto [block] = k.grid(k.multiprocessors());
    k.loop(groups, [&, block = block](Index g) {
      Index m = M.read({g}), n = N.read({g}), depth = K.read({g}), columns = ceilDiv(n, 64);
      Global a = A.of(g, {m, depth}, {depth}), b = B.of(g, {n, depth}, {depth}), c = C.of(g, {m, n}, {n});
      k.loop({block, ceilDiv(m, 64) * columns, k.blocks()}, [&](Index tile) {
        Index row = tile / columns * 64, column = tile % columns * 64;
        Shared left = k.shared("left", bf16, {64, 64}), right = k.shared("right", bf16, {64, 64});
        Fragment acc = k.fragment(f32, {64, 64});
        k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&](Index s) {
          copy(a.tile({row, s * 64}, {64, 64}), left);
          copy(b.tile({column, s * 64}, {64, 64}), right);
          gemm(left, right.t(), acc);
        });
        copy(acc, c.tile({row, column}, {64, 64}));
      });
    });
  });
}
// [addresses]

// [windows]
/// Y = images X with 32 filters W of 3 x 3, at every second pixel, with a margin of zeros.
Program filtered() {
  return Program::trace("filtered", [](Scope &k) {
    const Window window = {.taps = {3, 3}, .strides = {2, 2}, .before = {1, 1}, .after = {1, 1}};
    Index images = k.dim("images"), height = k.dim("height"), width = k.dim("width");
    Index positions = images * window.count(0, height) * window.count(1, width);
    Global X = k.input("X", bf16, {images, height, width, 64}), W = k.input("W", bf16, {32, 3, 3, 64});
    Global Y = k.output("Y", f32, {positions, 32});
    Global seen = X.windows(window); // [positions, 3, 3, 64]
    auto [block] = k.grid(ceilDiv(positions, 128));
    Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {32, 64});
    Fragment acc = k.fragment(f32, {128, 32});
    k.pipelined(9, {.stages = 3}, [&, block = block](Index tap) {
      copy(seen.tile({block * 128, tap / 3, tap % 3, 0}, {128, 1, 1, 64}), a);
      copy(W.tile({0, tap / 3, tap % 3, 0}, {32, 1, 1, 64}), b);
      gemm(a, b.t(), acc);
    });
    copy(acc, Y.tile({block * 128, 0}, {128, 32}));
  });
}
// [windows]

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

TEST_CASE("products of matrices whose addresses a tensor holds", "[docs]") {
  const std::vector<int32_t> m = {70, 1, 0, 129}, n = {65, 40, 8, 3}, depth = {72, 64, 16, 200};
  Tables tables = {{"A", {bf16}}, {"B", {bf16}}, {"C", {f32, Access::output}}};
  for (size_t g = 0; g < m.size(); ++g) {
    tables["A"].shapes.push_back({m[g], depth[g]});
    tables["B"].shapes.push_back({n[g], depth[g]});
    tables["C"].shapes.push_back({m[g], n[g]});
  }
  Run run(groupedProducts(), {{"groups", 4}}, {}, {{"M", m}, {"N", n}, {"K", depth}}, {}, tables);
  for (size_t g = 0; g < m.size(); ++g) {
    const std::string of = ".of(" + std::to_string(g) + ")";
    const Array &a = run.before("A" + of), &b = run.before("B" + of);
    checkMatrix(run.after("C" + of), 1e-5, [&](int64_t i, int64_t j) {
      double sum = 0;
      for (int64_t k = 0; k < depth[g]; ++k)
        sum += a(i, k) * b(j, k);
      return sum;
    });
  }
}

TEST_CASE("images with filters, as a product of what a window sees", "[docs]") {
  Run run(filtered(), {{"images", 3}, {"height", 7}, {"width", 10}});
  const std::vector<double> &x = run.before("X").values, &w = run.before("W").values;
  checkMatrix(run.after("Y"), 1e-5, [&](int64_t p, int64_t f) {
    double sum = 0;
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t s = 0; s < 3; ++s) {
        const int64_t v = p / 5 % 4 * 2 + r - 1, u = p % 5 * 2 + s - 1;
        if (v >= 0 && v < 7 && u >= 0 && u < 10)
          for (int64_t c = 0; c < 64; ++c)
            sum +=
                x[size_t(((p / 20 * 7 + v) * 10 + u) * 64 + c)] * w[size_t(((f * 3 + r) * 3 + s) * 64 + c)];
      }
    return sum;
  });
}
