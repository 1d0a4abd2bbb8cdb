// SPDX-License-Identifier: Apache-2.0
/// \file
/// docs/dsl.md: tensor memory.
#include "test/docs/Run.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::docs;

namespace {

// [tensor-memory]
/// C = A Bᵀ on Blackwell: one thread loads, one multiplies, four warps store.
Program gemmInTensorMemory() {
  return Program::trace("gemm_in_tensor_memory", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}, {.alignment = 16});
    Global B = k.input("B", bf16, {n, depth}, {.alignment = 16});
    Global C = k.output("C", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 128), ceilDiv(n, 64));
    Index steps = ceilDiv(depth, 64);
    Shared a = k.shared("a", bf16, {128, 64}, {.slots = 3}), b = k.shared("b", bf16, {64, 64}, {.slots = 3});
    TensorMemory acc = k.tensorMemory("acc", f32, {128, 64});
    Channel ab = k.channel("ab", {.slots = 3});
    Barrier done = k.barrier("done", 1);
    k.roles([&] {
      k.role("store", {.warps = 4}, [&] {
        done.wait(0);
        Fragment c = k.fragment(f32, {128, 64});
        copy(acc, c);
        copy(c, C.tile({i * 128, j * 64}, {128, 64}));
      });
      k.role("load", {.warps = 1}, [&] {
        k.loop(steps, [&](Index s) {
          ab.put([&](const Slot &at) {
            copy(A.tile({i * 128, s * 64}, {128, 64}), a.slot(at));
            copy(B.tile({j * 64, s * 64}, {64, 64}), b.slot(at));
          });
        });
      });
      k.role("multiply", {.warps = 1}, [&] {
        k.loop(steps, [&](Index s) {
          Slot at = ab.get();
          gemmAsync(a.slot(at), b.slot(at).t(), acc, {.accumulate = s > 0}); // the first one overwrites
          ab.release(Arrival::afterProducts);                                // when it has read the slot
        });
        done.arrive(Arrival::afterProducts); // when all of them are complete
      });
    });
  });
}
// [tensor-memory]

double dot(int64_t depth, const std::function<double(int64_t)> &term) {
  double sum = 0;
  for (int64_t s = 0; s < depth; ++s)
    sum += term(s);
  return sum;
}

} // namespace

TEST_CASE("dsl.md: a product in tensor memory", "[docs]") {
  constexpr int64_t depth = 208;
  CompileOptions options;
  options.target = "sm_100a";
  Run run(gemmInTensorMemory(), {{"m", 200}, {"n", 72}, {"k", depth}}, {}, {}, options);
  const Array &a = run.before("A"), &b = run.before("B");
  checkMatrix(run.after("C"), 1e-5,
              [&](int64_t i, int64_t j) { return dot(depth, [&](int64_t s) { return a(i, s) * b(j, s); }); });
}
