// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM of e4m3 with scales of blocks: C = A B^T, where 128 elements of a row of A have a scale in common,
/// and 128 x 128 elements of B.
///
/// A is [m, k], B is [n, k], e4m3; ScaleA is [m, k / 128], ScaleB is [ceil(n / 128), k / 128], f32; C is [m,
/// n], bf16. k is a multiple of 128, and the program sees A and B as [.., groups, 128], which is the same
/// memory.
///
/// A step along k is one group of 128. Its product has an accumulator of its own, which is scaled and added
/// to the sum in f32. That applies the scales and is more exact, as a product of e4m3 keeps only 13
/// fractional bits of its largest term. A tile has 128 columns, so that one number of ScaleB holds for it,
/// and 192 rows: a thread of the three warpgroups has 64 elements of the product and 64 of the sum. The
/// scales of a step are loaded during the product of the one before.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 128; ///< elements along k with one scale

void fp8BlockGemm(Scope &k) {
  constexpr int64_t bm = 192, bn = 128;
  Index m = k.dim("m"), n = k.dim("n"), groups = k.dim("groups");
  Global A = k.input("A", e4m3, {m, groups, group}), B = k.input("B", e4m3, {n, groups, group});
  Global ScaleA = k.input("ScaleA", f32, {m, groups}, {.alignment = 4}),
         ScaleB = k.input("ScaleB", f32, {ceilDiv(n, bn), groups}, {.alignment = 4});
  Global C = k.output("C", bf16, {m, n});
  k.persistent({ceilDiv(m, bm), ceilDiv(n, bn)}, {.group = 16}, [&](Index i, Index j) {
    Shared a = k.shared("a", e4m3, {bm, group}), b = k.shared("b", e4m3, {bn, group});
    Fragment sum = k.fragment(f32, {bm, bn}).named("sum");
    Fragment scaleA = k.fragment(f32, {bm, 1}), scaleB = k.fragment(f32, {1, 1});
    auto loadScales = [&](const Index &s) {
      copy(ScaleA.tile({i * bm, s}, {bm, 1}), scaleA);
      copy(ScaleB.tile({j, s}, {1, 1}), scaleB);
    };
    loadScales(0);
    k.pipelined(groups, {.stages = 4}, [&](Index s) {
      copy(A.tile({i * bm, s, 0}, {bm, 1, group}), a);
      copy(B.tile({j * bn, s, 0}, {bn, 1, group}), b);
      FragmentValue scale = scaleA * scaleB;
      loadScales(s + 1); // which the next step need not wait for
      gemmScaled(a, b.t(), scale, sum);
    });
    copy(sum.to(bf16), C.tile({i * bm, j * bn}, {bm, bn}).disjoint("a block has a tile once"));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("fp8_block_gemm", "C = A B^T of e4m3 with scales of 1 x 128 elements of A and 128 x 128 of B")
      .size("m", 4096, {.onEmulator = 200})
      .size("n", 4096, {.onEmulator = 264})
      .size("groups", 32, {.onEmulator = 3, .help = "k / 128"})
      .program(fp8BlockGemm)
      .random("ScaleA", 0.5, 2)
      .random("ScaleB", 0.5, 2)
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), B = in.tensor("B"), SA = in.tensor("ScaleA"),
                             SB = in.tensor("ScaleB");
                   return [=, groups = in.values["groups"]](int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t g = 0; g < groups; ++g) {
                       double part = 0;
                       for (int64_t l = 0; l < group; ++l)
                         part += A(i, g, l) * B(j, g, l);
                       sum += part * SA(i, g) * SB(j / 128, g);
                     }
                     return sum;
                   };
                 })
      .tolerance("C", {.limit = 0.02, .floor = 4}) // the tensor cores keep 13 bits of a sum
      .flops([](const Values &v) {
        return 2.0 * double(v["m"]) * double(v["n"]) * double(v["groups"]) * double(group);
      })
      .bench({{"m", "8192"}, {"n", "8192"}, {"groups", "64"}});
}
