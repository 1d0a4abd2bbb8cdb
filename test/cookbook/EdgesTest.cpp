// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of the cookbook with contents and extents that no problem of theirs has, on the emulator.
#include "kernels/cookbook/Cookbook.h"
#include "test/Expect.h"
#include "test/kernels/CompileOnce.h"
#include "test/programs/ProgramRun.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

std::shared_ptr<const Artifact> compiledKernel(std::string_view name) {
  const Kernel *kernel = expectValue(findShippedKernel(name));
  Request request = expectValue(Request::parse(*kernel, {}, {}, DefaultSizes::emulator));
  return kernels::test::compileOnce(request);
}

} // namespace

TEST_CASE("exponents of MXFP4 from the least to NaN", "[cookbook]") {
  constexpr std::array exponents{0, 1, 127, 253, 254, 255};
  constexpr std::array<double, 4> codes{0.5, 1, -1.5, 0};
  constexpr int64_t m = 3, n = exponents.size() * codes.size(), group = 32;
  constexpr double factor = 1.0 / 64; // sums are exact, some below the normal numbers
  Memory a = Memory::filled(ElementType::bf16, {m, group}, factor),
         q = Memory::filled(ElementType::e2m1, {n, 1, group}, 0),
         e = Memory::filled(ElementType::u8, {n, 1}, 0), c = Memory::filled(ElementType::bf16, {m, n}, -1);
  auto exponentOf = [&](int64_t j) { return exponents[size_t(j) / codes.size()]; };
  auto codeOf = [&](int64_t j) { return codes[size_t(j) % codes.size()]; };
  for (int64_t j = 0; j < n; ++j) {
    e.at({j, 0}) = exponentOf(j);
    for (int64_t l = 0; l < group; ++l)
      q.at({j, 0, l}) = codeOf(j);
  }
  run(*compiledKernel("mxfp4_gemm"), {&a, &q, &e, &c});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      CAPTURE(i, exponentOf(j), codeOf(j));
      if (exponentOf(j) == 255)
        CHECK(std::isnan(c.at({i, j})));
      else
        CHECK(c.at({i, j}) == double(group) * factor * codeOf(j) * std::exp2(exponentOf(j) - 127));
    }
}

TEST_CASE("norms of rows without elements are launched", "[cookbook]") {
  constexpr int64_t m = 3;
  auto of = [](ElementType element, std::vector<int64_t> shape) {
    return Memory::filled(element, std::move(shape), -1);
  };
  Memory x = of(ElementType::bf16, {m, 0}), y = x, w = of(ElementType::f32, {0}), b = w,
         mean = of(ElementType::f32, {m}), r = mean;
  run(*compiledKernel("rms_norm"), {&x, &w, &y, &r});
  for (int64_t i = 0; i < m; ++i)
    CHECK(std::isnan(r.at({i}))); // the mean of nothing
  r.values.assign(m, -1);
  run(*compiledKernel("layer_norm"), {&x, &w, &b, &y, &mean, &r});
  for (int64_t i = 0; i < m; ++i) {
    CHECK(std::isnan(mean.at({i})));
    CHECK(std::isnan(r.at({i})));
  }
}

TEST_CASE("masked_decode gives zeros where no key is seen, whatever V holds", "[cookbook]") {
  constexpr int64_t batches = 2, kvHeads = 2, group = 3, keys = 130, d = 128;
  auto of = [](ElementType element, std::vector<int64_t> shape, double value) {
    return Memory::filled(element, std::move(shape), value);
  };
  // Head 0 of sequence 0 sees nothing, head 1 its last key alone; sequence 1 sees all.
  Memory q = of(ElementType::bf16, {batches, kvHeads, group, d}, 1),
         k = of(ElementType::bf16, {batches, keys, kvHeads, d}, 1),
         v = of(ElementType::bf16, {batches, keys, kvHeads, d}, notANumber),
         mask = of(ElementType::u8, {batches, kvHeads, keys}, 1),
         o = of(ElementType::bf16, {batches, kvHeads, group, d}, -1);
  for (int64_t key = 0; key < keys; ++key) {
    mask.at({0, 0, key}) = 0;
    mask.at({0, 1, key}) = key == keys - 1;
  }
  // Its tile has no other keys that exist but one; blocks of the other tiles see none.
  for (int64_t key = 128; key < keys; ++key)
    for (int64_t i = 0; i < d; ++i)
      v.at({0, key, 1, i}) = 2;
  run(*compiledKernel("masked_decode"), {&q, &o, &k, &v, &mask});
  for (int64_t g = 0; g < group; ++g)
    for (int64_t i = 0; i < d; ++i) {
      CAPTURE(g, i);
      REQUIRE(o.at({0, 0, g, i}) == 0);
      REQUIRE(o.at({0, 1, g, i}) == 2);
      REQUIRE(std::isnan(o.at({1, 0, g, i})));
    }
}
