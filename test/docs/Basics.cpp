// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs, arguments, slices, fragments.
#include "test/docs/Run.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

// [scaled-add]
Program scaledAdd() {
  return Program::trace("scaled_add", [](Scope &k) {
    Index n = k.dim("n");
    Scalar a = k.scalar("a", f32);
    Global X = k.input("X", f32, {n}), Y = k.inout("Y", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 1024));
    Fragment x = k.fragment(f32, {1024}), y = k.fragment(f32, {1024});
    copy(X.tile({block * 1024}, {1024}), x);
    copy(Y.tile({block * 1024}, {1024}), y);
    copy(a * x + y, Y.tile({block * 1024}, {1024}));
  });
}
// [scaled-add]

// [plain-gemm]
/// C = A · Bᵀ with bf16 in and out, f32 in between.
Program gemmProgram() {
  return Program::trace("gemm", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
    Global C = k.output("C", bf16, {m, n});
    k.persistent({ceilDiv(m, 128), ceilDiv(n, 256)}, {.group = 16}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {256, 64});
      Fragment acc = k.fragment(f32, {128, 256}).named("acc");
      k.pipelined(ceilDiv(depth, 64), {.stages = 4}, [&](Index s) {
        copy(A.tile({i * 128, s * 64}, {128, 64}), a);
        copy(B.tile({j * 256, s * 64}, {256, 64}), b);
        gemm(a, b.t(), acc); // acc += a · bᵀ
      });
      copy(acc.to(bf16), C.tile({i * 128, j * 256}, {128, 256}));
    });
  });
}
// [plain-gemm]

} // namespace

TEST_CASE("a scaled sum of vectors of any length", "[docs]") {
  int64_t n = GENERATE(0, 1, 1024, 3000);
  Run run(scaledAdd(), {{"n", n}}, {number(3)});
  checkVector(run.after("Y"), 1e-6, [&](int64_t i) { return 3 * run.before("X")(i) + run.before("Y")(i); });
}

TEST_CASE("the plain GEMM", "[docs]") {
  Run run(gemmProgram(), {{"m", 200}, {"n", 264}, {"k", 136}});
  const Array &a = run.before("A"), &b = run.before("B");
  checkMatrix(run.after("C"), 1.0 / 256, [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t s = 0; s < 136; ++s)
      sum += a(i, s) * b(j, s);
    return sum;
  });
  for (const Remark &remark : run.remarks())
    WARN(remark.message);
}
