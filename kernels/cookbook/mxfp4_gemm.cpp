// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM with weights in MXFP4, the format of OCP: C = A W^T with w = q 2^(e - 127).
///
/// A is [m, k], bf16; Q is [n, k], e2m1, two in a byte; E is [n, k / 32], u8: the exponent that 32 weights
/// along a row have in common. C is [m, n], bf16; sums are f32. k is a multiple of 32, and the program sees Q
/// as [n, groups, 32], which is the same memory. Weights become bf16 without rounding: e2m1 has one
/// fractional bit. As OCP has it, e = 255 is NaN. Weights of 2^128 and more, which bf16 lacks, are infinite.
///
/// The first launch converts each weight once, to a workspace of n x k, of which L2 holds some. The second
/// one is a product of bf16. Where A has few rows the weights should stay as they are, as those of
/// w4a16_gemm; where it has hundreds, converting them for each tile of rows takes longer than the products.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 32; ///< weights with one exponent

/// A tile of weights as bf16.
FragmentValue weights(const Fragment &code, const Fragment &exponent) {
  FragmentValue e = exponent.to(u32);
  // Moved by 23 bits it is the factor in f32, except that 2^-127 is below the normal numbers.
  FragmentValue factor = bitcast(where(e == 0, 0x400000, where(e == 255, 0x7fc00000, e << 23)), f32);
  return (code.to(f32) * factor).to(bf16);
}

void mxfp4(Scope &k, const Values &v) {
  Index m = k.dim("m"), n = k.dim("n"), groups = k.dim("groups"), depth = groups * group;
  Global A = k.input("A", bf16, {m, depth}), Q = k.input("Q", e2m1, {n, groups, group});
  Global E = k.input("E", u8, {n, groups}, {.alignment = 1}), C = k.output("C", bf16, {m, n});
  Global W = k.workspace("w", bf16, {n, depth}, {.alignment = 16});
  k.launch("mxfp4_gemm_convert", [&] {
    constexpr int64_t rows = 8, together = 16; // groups of a row
    auto [j, s] = k.grid(ceilDiv(n, rows), ceilDiv(groups, together));
    Fragment code = k.fragment(e2m1, {rows, together, group}), exponent = k.fragment(u8, {rows, together, 1});
    copy(Q.tile({j * rows, s * together, 0}, {rows, together, group}), code);
    copy(E.tile({j * rows, s * together}, {rows, together}), exponent);
    copy(reshape(weights(code, exponent), {rows, together * group}),
         W.tile({j * rows, s * (together * group)}, {rows, together * group}));
  });
  k.launch("mxfp4_gemm", [&] {
    constexpr int64_t bm = 128, bk = 64;
    const int64_t bn = v["columns"];
    k.persistent({ceilDiv(m, bm), ceilDiv(n, bn)}, {.group = 16}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {bm, bk}), w = k.shared("w", bf16, {bn, bk});
      Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
      k.pipelined(ceilDiv(depth, bk), {.stages = 4}, [&](Index s) {
        copy(A.tile({i * bm, s * bk}, {bm, bk}), a);
        copy(W.tile({j * bn, s * bk}, {bn, bk}), w);
        gemm(a, w.t(), acc);
      });
      copy(acc.to(bf16), C.tile({i * bm, j * bn}, {bm, bn}));
    });
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("mxfp4_gemm", "C = A W^T with weights in MXFP4: e2m1, of which 32 share an exponent")
      .size("m", 256, {.onEmulator = 136})
      .size("n", 8192, {.onEmulator = 200})
      .size("groups", 256, {.onEmulator = 7, .help = "k / 32"})
      .constant("columns", 256, {.least = 64, .most = 256, .multipleOf = 32, .help = "of a tile"})
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
                         sum += A(i, g * group + l) * Q(j, g, l) *
                                (E(j, g) == 255 ? NAN : std::exp2(E(j, g) - 127));
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        return 2.0 * double(v["m"]) * double(v["n"]) * double(v["groups"]) * double(group);
      })
      .bench({{"m", "4096"}});
}
