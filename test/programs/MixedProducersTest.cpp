// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rings whose slots are filled in several ways: by the TMA, by cp.async and by threads' stores. What the TMA
/// cannot load takes neither roles nor wgmma from the kernel.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t step = 64;

struct Form {
  int64_t alignmentOfA, alignmentOfB; ///< bytes that rows are known to be aligned to; 0: nothing is known
  int64_t stages, cluster;
};

TensorFacts aligned(int64_t bytes) { return bytes == 0 ? TensorFacts() : TensorFacts{.alignment = bytes}; }

/// C = A Bᵀ, rows of a cluster sharing tiles of B.
Program product(const Form &form) {
  return Program::trace("product", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}, aligned(form.alignmentOfA));
    Global B = k.input("B", bf16, {n, depth}, aligned(form.alignmentOfB));
    Global C = k.output("C", f32, {m, n});
    k.cluster(form.cluster);
    k.persistent({ceilDiv(m, 128), ceilDiv(n, 64)}, {.cluster = ClusterAxis::rows}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {128, step}), b = k.shared("b", bf16, {64, step});
      Fragment acc = k.fragment(f32, {128, 64});
      k.pipelined(ceilDiv(depth, step), {.stages = form.stages}, [&](Index s) {
        copy(A.tile({i * 128, s * step}, {128, step}), a);
        copy(B.tile({j * 64, s * step}, {64, step}), b);
        gemm(a, b.t(), acc);
      });
      copy(acc, C.tile({i * 128, j * 64}, {128, 64}));
    });
  });
}

/// A row's length whose bytes are a multiple of `bytes` and of no larger power of two.
int64_t paddingTo(int64_t bytes, int64_t length) {
  int64_t elements = std::max<int64_t>(bytes / 2, 1), padding = 0;
  while ((length + padding) % elements != 0 || (bytes < 16 && (length + padding) % (2 * elements) == 0))
    ++padding;
  return padding;
}

Memory counting(std::vector<int64_t> shape, int64_t padding) {
  Memory memory = Memory::filled(bf16, std::move(shape), 0, padding);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double(i % 13) - 5;
  return memory;
}

bool contains(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("a factor that the TMA cannot load keeps roles and wgmma", "[roles]") {
  int64_t alignmentOfA = GENERATE(0, 4, 8), alignmentOfB = GENERATE(0, 16);
  int64_t stages = GENERATE(1, 3), cluster = GENERATE(1, 2);
  Artifact artifact = compiled(product({alignmentOfA, alignmentOfB, stages, cluster}));
  const std::string &ptx = artifact.variants.back().ptx;
  INFO("A aligned to " << alignmentOfA << ", B to " << alignmentOfB << ", " << stages
                       << " stages, clusters of " << cluster);
  CHECK(contains(ptx, "wgmma.mma_async"));
  CHECK(contains(ptx, ".maxntid 384"));
  CHECK(contains(ptx, "cp.async.bulk.tensor") == (alignmentOfB == 16));
  CHECK(contains(ptx, "multicast::cluster") == (alignmentOfB == 16 && cluster > 1));
  CHECK(contains(ptx, "cp.async.mbarrier.arrive.noinc") == (alignmentOfA > 0));

  auto [m, n, depth] = GENERATE(table<int64_t, int64_t, int64_t>({{1, 1, 1}, {130, 70, 77}, {257, 65, 321}}));
  Memory a = counting({m, depth}, paddingTo(std::max<int64_t>(alignmentOfA, 2), depth));
  Memory b = counting({n, depth}, paddingTo(std::max<int64_t>(alignmentOfB, 2), depth));
  Memory c = Memory::filled(f32, {m, n}, notANumber);
  run(artifact, {&a, &b, &c});
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double expected = 0;
      for (int64_t at = 0; at < depth; ++at)
        expected += a.at({row, at}) * b.at({column, at});
      wrong += c.at({row, column}) != expected;
    }
  CHECK(wrong == 0);
}

namespace {

/// D = A Bᵀ and E = A Cᵀ, where C has too few rows for a warpgroup to share: its product is mma.sync.
Program twoProducts() {
  return Program::trace("two_products", [](Scope &k) {
    Index m = k.dim("m"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {64, depth}),
           C = k.input("C", bf16, {48, depth});
    Global D = k.output("D", f32, {m, 64}), E = k.output("E", f32, {48, m});
    k.require(Requirement::warpSpecialized);
    auto [i] = k.grid(ceilDiv(m, 128));
    Shared a = k.shared("a", bf16, {128, step}), b = k.shared("b", bf16, {64, step}),
           c = k.shared("c", bf16, {48, step});
    Fragment d = k.fragment(f32, {128, 64}), e = k.fragment(f32, {48, 128});
    k.pipelined(ceilDiv(depth, step), {.stages = 2}, [&](Index s) {
      copy(A.tile({i * 128, s * step}, {128, step}), a);
      copy(B.tile({0, s * step}, {64, step}), b);
      copy(C.tile({0, s * step}, {48, step}), c);
      gemm(a, b.t(), d);
      gemm(c, a.t(), e, WarpPolicy::fullColumn);
    });
    copy(d, D.tile({i * 128, 0}, {128, 64}));
    copy(e, E.tile({0, i * 128}, {48, 128}));
  });
}

} // namespace

TEST_CASE("a product without wgmma takes it from no other, nor the roles", "[roles]") {
  Artifact artifact = compiled(twoProducts());
  CHECK(contains(artifact.variants.front().ptx, "wgmma.mma_async"));
  CHECK(contains(artifact.variants.front().ptx, "mma.sync"));
  CHECK(contains(artifact.variants.front().ptx, "cp.async.bulk.tensor"));
  bool isAligned = GENERATE(true, false);
  auto [m, depth] = GENERATE(table<int64_t, int64_t>({{1, 1}, {130, 77}, {300, 330}}));
  int64_t padding = paddingTo(isAligned ? 16 : 2, depth);
  Memory a = counting({m, depth}, padding), b = counting({64, depth}, padding),
         c = counting({48, depth}, padding);
  Memory d = Memory::filled(f32, {m, 64}, notANumber, isAligned ? 0 : 1),
         e = Memory::filled(f32, {48, m}, notANumber, paddingTo(8, m));
  run(artifact, {&a, &b, &c, &d, &e});
  auto dot = [&](Memory &left, int64_t row, Memory &right, int64_t column) {
    double sum = 0;
    for (int64_t at = 0; at < depth; ++at)
      sum += left.at({row, at}) * right.at({column, at});
    return sum;
  };
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < 64; ++column)
      wrong += d.at({row, column}) != dot(a, row, b, column);
    for (int64_t column = 0; column < 48; ++column)
      wrong += e.at({column, row}) != dot(c, column, a, row);
  }
  CHECK(wrong == 0);
}

namespace {

/// Of each row of A, the least of its products with rows of B and a number of the row of B: rows that B does
/// not have have infinite numbers, in shared memory like the others. Or the largest, and minus infinity.
Program extremeProducts(float fillValue) {
  return Program::trace("extreme_products", [=](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global A = k.input("A", bf16, {m, step}, {.alignment = 16}),
           B = k.input("B", bf16, {n, step}, {.alignment = 16}),
           Numbers = k.input("numbers", f32, {1, n}, {.alignment = 16});
    Global Y = k.output("Y", f32, {m, 1});
    k.require(Requirement::warpSpecialized);
    auto [i] = k.grid(ceilDiv(m, 128));
    Shared a = k.shared("a", bf16, {128, step}), b = k.shared("b", bf16, {64, step}),
           numbers = k.shared("number_tile", f32, {1, 64});
    copy(A.tile({i * 128, 0}, {128, step}), a);
    Fragment best = k.fragment(f32, {128, 1}, fillValue);
    k.pipelined(ceilDiv(n, 64), {.stages = 2}, [&](Index j) {
      copy(B.tile({j * 64, 0}, {64, step}), b);
      copy(Numbers.tile({0, j * 64}, {1, 64}).fill(fillValue), numbers);
      Fragment s = k.fragment(f32, {128, 64}), ofRows = k.fragment(f32, {1, 64});
      gemm(a, b.t(), s);
      copy(numbers, ofRows);
      best = fillValue > 0 ? min(best, rowMin(s + ofRows)) : max(best, rowMax(s + ofRows));
    });
    copy(best, Y.tile({i * 128, 0}, {128, 1}));
  });
}

} // namespace

TEST_CASE("a copy that fills with infinity keeps the roles of the others", "[roles]") {
  float fillValue = GENERATE(inf, -inf);
  Artifact artifact = compiled(extremeProducts(fillValue));
  const std::string &ptx = artifact.variants.front().ptx;
  INFO("filled with " << fillValue);
  CHECK(contains(ptx, ".maxntid 384")); // eight warps compute, four load
  CHECK(contains(ptx, "setmaxnreg"));
  CHECK(contains(ptx, "wgmma.mma_async"));
  CHECK(
      contains(ptx, "mbarrier.arrive.expect_tx")); // what the TMA loads of a slot, beside what threads store
  auto [m, n] = GENERATE(table<int64_t, int64_t>({{1, 1}, {130, 77}, {200, 320}, {77, 0}}));
  Memory a = counting({m, step}, 0), b = counting({n, step}, 0), numbers = Memory::filled(f32, {1, n}, 0);
  for (int64_t row = 0; row < n; ++row)
    numbers.at({0, row}) = double(row * 37 % 1000) - 500;
  Memory y = Memory::filled(f32, {m, 1}, notANumber);
  run(artifact, {&a, &b, &numbers, &y});
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row) {
    double expected = fillValue;
    for (int64_t other = 0; other < n; ++other) {
      double sum = numbers.at({0, other});
      for (int64_t at = 0; at < step; ++at)
        sum += a.at({row, at}) * b.at({other, at});
      expected = fillValue > 0 ? std::min(expected, sum) : std::max(expected, sum);
    }
    wrong += y.at({row, 0}) != expected;
  }
  CHECK(wrong == 0);
}
