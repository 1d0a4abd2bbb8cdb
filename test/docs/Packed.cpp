// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of 4 bits.
#include "test/docs/Run.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::docs;

namespace {

// [packed]
/// C = A · (W scaled)ᵀ with weights of 4 bits, of which 32 along a row have a scale in common.
Program scaledWeights(ElementType weights) {
  return Program::trace("scaled_weights", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k"), groups = k.dim("groups");
    Global A = k.input("A", bf16, {m, depth}), W = k.input("W", weights, {n, depth});
    Global S = k.input("S", f32, {n, groups}), C = k.output("C", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64));
    Shared a = k.shared("a", bf16, {64, 32}), packed = k.shared("packed", weights, {64, 32});
    Shared w = k.shared("w", bf16, {64, 32});
    Fragment acc = k.fragment(f32, {64, 64}).named("acc");
    k.pipelined(ceilDiv(depth, 32), {.stages = 3}, [&](Index s) {
      copy(A.tile({i * 64, s * 32}, {64, 32}), a);
      copy(W.tile({j * 64, s * 32}, {64, 32}), packed);
      Fragment code = k.fragment(weights, {64, 32}), scale = k.fragment(f32, {64, 1});
      copy(packed, code);
      copy(S.tile({j * 64, s}, {64, 1}), scale);
      copy((code.to(f32) * scale).to(bf16), w);
      gemm(a, w.t(), acc);
    });
    copy(acc, C.tile({i * 64, j * 64}, {64, 64}));
  });
}
// [packed]

} // namespace

TEST_CASE("products with weights of 4 bits", "[docs]") {
  constexpr int64_t m = 37, n = 91, depth = 70, groups = 3;
  ElementType weights = GENERATE(ElementType::i4, ElementType::e2m1);
  Run run(scaledWeights(weights), {{"m", m}, {"n", n}, {"k", depth}, {"groups", groups}});
  const Array &a = run.before("A"), &w = run.before("W"), &scales = run.before("S");
  checkMatrix(run.after("C"), 0.02, [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t s = 0; s < depth; ++s)
      sum += a(i, s) * w(j, s) * scales(j, s / 32);
    return sum;
  });
}
