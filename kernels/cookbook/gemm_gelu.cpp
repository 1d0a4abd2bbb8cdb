// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM with its epilogue: C = gelu(A B^T + bias) + residual, with the exact GELU, 0.5 x (1 + erf(x /
/// sqrt(2))).
///
/// A is [m, k], B is [n, k], the residual and C are [m, n], all bf16 and row-major; the bias is [n], f32.
/// Sums are f32.
///
/// Tiles of 128 x 256 are computed by two warpgroups, with 128 accumulators in each thread. The epilogue
/// loads the residual's tile after the bias is added, as registers do not hold both. A third warpgroup loads:
/// four stages of 64 columns of A and B are 192 KiB of shared memory. Blocks are persistent, so that the next
/// tile's copies run while the epilogue of the one before computes, and 16 rows of tiles are visited together
/// to share B in the L2 cache.
#include <cmath>
#include <numbers>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void gemmGelu(Scope &k, const Values &v) {
  constexpr int64_t bm = 128, bk = 64;
  const int64_t bn = v["columns"];
  Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
  Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
  Global Bias = k.input("Bias", f32, {n}), Residual = k.input("Residual", bf16, {m, n});
  Global C = k.output("C", bf16, {m, n});
  k.persistent({ceilDiv(m, bm), ceilDiv(n, bn)}, {.group = 16}, [&](Index i, Index j) {
    Shared a = k.shared("a", bf16, {bm, bk}), b = k.shared("b", bf16, {bn, bk});
    Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
    k.pipelined(ceilDiv(depth, bk), {.stages = 4}, [&](Index s) {
      copy(A.tile({i * bm, s * bk}, {bm, bk}), a);
      copy(B.tile({j * bn, s * bk}, {bn, bk}), b);
      gemm(a, b.t(), acc);
    });
    Fragment bias = k.fragment(f32, {1, bn}), residual = k.fragment(bf16, {bm, bn});
    copy(Bias.tile({j * bn}, {bn}), bias);
    acc += bias;
    acc = acc * 0.5 * (1 + erf(acc * (1 / std::numbers::sqrt2)));
    copy(Residual.tile({i * bm, j * bn}, {bm, bn}), residual);
    copy((acc + residual.to(f32)).to(bf16), C.tile({i * bm, j * bn}, {bm, bn}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("gemm_gelu", "C = gelu(A B^T + bias) + residual")
      .size("m", 8192, {.onEmulator = 200})
      .size("n", 8192, {.onEmulator = 264})
      .size("k", 4096, {.onEmulator = 136})
      .open("columns", {256, 64, 96, 128, 160, 192, 224}, "of a tile")
      .program(gemmGelu)
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), B = in.tensor("B"), Bias = in.tensor("Bias");
                   return [=, R = in.tensor("Residual"), depth = in.values["k"]](int64_t i, int64_t j) {
                     double x = Bias(j);
                     for (int64_t l = 0; l < depth; ++l)
                       x += A(i, l) * B(j, l);
                     return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)) + R(i, j);
                   };
                 })
      .flops([](const Values &v) { return 2.0 * double(v["m"]) * double(v["n"]) * double(v["k"]); })
      .bench({{"m", "4096"}, {"n", "16384"}, {"k", "4096"}});
}
