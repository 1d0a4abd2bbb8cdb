// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM with weights in MXFP4, the format of OCP: C = A W^T with w = q 2^(e - 127).
///
/// A is [m, k], bf16; Q is [n, k], e2m1, two in a byte; E is [n, k / 32], u8: the exponent that 32 weights
/// along a row have in common. C is [m, n], bf16; sums are f32. k is a multiple of 32, and the program sees A
/// and Q as [.., groups, 32], which is the same memory. Weights become bf16 without rounding: e2m1 has one
/// fractional bit. As OCP has it, e = 255 is NaN. Weights of 2^128 and more, which bf16 lacks, are infinite.
///
/// A tile is 256 x 128, so that a weight is converted once for 256 rows of A. A step along k is two groups of
/// 32, each of which has one exponent in a row: moved by 23 bits, it is the factor in f32. The weights of a
/// group are converted in registers, copied to a shared tile, and multiplied from there, as both factors of
/// wgmma may be in shared memory; the product of one group runs while the next one is converted.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 32; ///< weights with one exponent

void mxfp4(Scope &k) {
  constexpr int64_t bm = 256, bn = 128, together = 2; // groups of a step
  Index m = k.dim("m"), n = k.dim("n"), groups = k.dim("groups");
  Global A = k.input("A", bf16, {m, groups, group}), Q = k.input("Q", e2m1, {n, groups, group});
  Global E = k.input("E", u8, {n, groups}, {.alignment = 1}), C = k.output("C", bf16, {m, n});
  auto [j, i] = k.grid(ceilDiv(n, bn), ceilDiv(m, bm));
  std::vector<Shared> a, q, w;
  for (int64_t g = 0; g < together; ++g) {
    a.push_back(k.shared("a", bf16, {bm, group}));
    q.push_back(k.shared("q", e2m1, {bn, group}));
    w.push_back(k.shared("w", bf16, {bn, group}));
  }
  Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
  k.pipelined(ceilDiv(groups, together), {.stages = 3}, [&, j = j, i = i](Index s) {
    for (int64_t g = 0; g < together; ++g) {
      copy(A.tile({i * bm, s * together + g, 0}, {bm, 1, group}), a[size_t(g)]);
      copy(Q.tile({j * bn, s * together + g, 0}, {bn, 1, group}), q[size_t(g)]);
    }
    for (int64_t g = 0; g < together; ++g) {
      Fragment code = k.fragment(e2m1, {bn, group}), exponent = k.fragment(u8, {bn, 1});
      copy(q[size_t(g)], code);
      copy(E.tile({j * bn, s * together + g}, {bn, 1}), exponent);
      FragmentValue e = exponent.to(u32);
      // 2^-127 is below the normal numbers of f32.
      FragmentValue factor = bitcast(where(e == 0, 0x400000, where(e == 255, 0x7fc00000, e << 23)), f32);
      copy((code.to(f32) * factor).to(bf16), w[size_t(g)]);
      gemm(a[size_t(g)], w[size_t(g)].t(), acc);
    }
  });
  copy(acc.to(bf16), C.tile({i * bm, j * bn}, {bm, bn}));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("mxfp4_gemm", "C = A W^T with weights in MXFP4: e2m1, of which 32 share an exponent")
      .size("m", 256, {.onEmulator = 136})
      .size("n", 8192, {.onEmulator = 200})
      .size("groups", 256, {.onEmulator = 7, .help = "k / 32"})
      .program(mxfp4)
      .random("Q", -6, 6)
      .random("E", 120, 126)
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), Q = in.tensor("Q"), E = in.tensor("E");
                   return [=, groups = in.values["groups"]](int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t g = 0; g < groups; ++g)
                       for (int64_t l = 0; l < group; ++l)
                         sum += A(i, g, l) * Q(j, g, l) * (E(j, g) == 255 ? NAN : std::exp2(E(j, g) - 127));
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        return 2.0 * double(v["m"]) * double(v["n"]) * double(v["groups"]) * double(group);
      })
      .bench({{"m", "4096"}});
}
