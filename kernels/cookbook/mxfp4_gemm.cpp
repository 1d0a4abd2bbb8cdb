// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM with weights in MXFP4, the format of OCP: C = A W^T with w = q 2^(e - 127).
///
/// A is [m, k], bf16; Q is [n, k], e2m1, two in a byte; E is [n, k / 32], u8: the exponent that 32 weights
/// along a row have in common. C is [m, n], bf16; sums are f32. k is a multiple of 32, and the program sees A
/// and Q as
/// [.., groups, 32], which is the same memory. Weights become bf16 without rounding: e2m1 has one fractional
/// bit.
///
/// A tile is 128 x 128. A step along k is one group of 32, so that each row of a step has one exponent. The
/// weights are converted in registers, copied to a shared tile, and multiplied from there, as both factors of
/// wgmma may be in shared memory. Steps are short, so there are 6 stages.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 32; ///< weights with one exponent

void mxfp4(Scope &k) {
  constexpr int64_t bm = 128, bn = 128;
  Index m = k.dim("m"), n = k.dim("n"), groups = k.dim("groups");
  Global A = k.input("A", bf16, {m, groups, group}), Q = k.input("Q", e2m1, {n, groups, group});
  Global E = k.input("E", u8, {n, groups}, {.alignment = 1}), C = k.output("C", bf16, {m, n});
  auto [j, i] = k.grid(ceilDiv(n, bn), ceilDiv(m, bm));
  Shared a = k.shared("a", bf16, {bm, group}), q = k.shared("q", e2m1, {bn, group});
  Shared w = k.shared("w", bf16, {bn, group});
  Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
  k.pipelined(groups, {.stages = 6}, [&, j = j, i = i](Index s) {
    copy(A.tile({i * bm, s, 0}, {bm, 1, group}), a);
    copy(Q.tile({j * bn, s, 0}, {bn, 1, group}), q);
    Fragment code = k.fragment(e2m1, {bn, group}), exponent = k.fragment(u8, {bn, 1});
    copy(q, code);
    copy(E.tile({j * bn, s}, {bn, 1}), exponent);
    copy((code.to(f32) * exp2(exponent.to(f32) - 127)).to(bf16), w);
    gemm(a, w.t(), acc);
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
                         sum += A(i, g, l) * Q(j, g, l) * std::exp2(E(j, g) - 127);
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        return 2.0 * double(v["m"]) * double(v["n"]) * double(v["groups"]) * double(group);
      })
      .bench({{"m", "4096"}});
}
