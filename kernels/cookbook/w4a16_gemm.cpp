// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM with weights of 4 bits: C = A W^T with w = (q - zero) scale.
///
/// A is [m, k], bf16; Q is [n, k], u4, two in a byte; Scale and Zero are [n, k / 128], bf16: 128 weights
/// along a row have one scale and one zero in common. C is [m, n], bf16; sums are f32. k is a multiple of
/// 128, and the program sees A and Q as [.., groups, 128], which is the same memory.
///
/// The product is C^T = W A^T: the weights are the left factor, which may be in registers, so that they are
/// converted there and never written to memory as bf16. (The compiler moves the codes between threads by way
/// of shared memory, a byte for each: two weights that share a byte are not what one thread of a product
/// needs.) A tile is 128 rows of weights by 64 tokens, as few tokens are usual when weights are small. A step
/// along k is one group, so that each row has one scale. The result is turned round in shared memory.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 128; ///< weights with one scale

void w4a16(Scope &k) {
  constexpr int64_t bm = 64, bn = 128;
  Index m = k.dim("m"), n = k.dim("n"), groups = k.dim("groups");
  Global A = k.input("A", bf16, {m, groups, group}), Q = k.input("Q", u4, {n, groups, group});
  Global Scale = k.input("Scale", bf16, {n, groups}, {.alignment = 2}),
         Zero = k.input("Zero", bf16, {n, groups}, {.alignment = 2});
  Global C = k.output("C", bf16, {m, n});
  auto [j, i] = k.grid(ceilDiv(n, bn), ceilDiv(m, bm));
  Shared a = k.shared("a", bf16, {bm, group}), q = k.shared("q", u4, {bn, group});
  Shared turned = k.shared("turned", bf16, {bn, bm});
  Fragment acc = k.fragment(f32, {bn, bm}).named("acc");
  k.pipelined(groups, {.stages = 4}, [&, j = j, i = i](Index s) {
    copy(A.tile({i * bm, s, 0}, {bm, 1, group}), a);
    copy(Q.tile({j * bn, s, 0}, {bn, 1, group}), q);
    Fragment code = k.fragment(u4, {bn, group});
    Fragment scale = k.fragment(bf16, {bn, 1}), zero = k.fragment(bf16, {bn, 1});
    copy(q, code);
    copy(Scale.tile({j * bn, s}, {bn, 1}), scale);
    copy(Zero.tile({j * bn, s}, {bn, 1}), zero);
    gemm(((code.to(f32) - zero.to(f32)) * scale.to(f32)).to(bf16), a.t(), acc);
  });
  copy(acc.to(bf16), turned);
  Fragment c = k.fragment(bf16, {bm, bn});
  copy(turned.t(), c);
  copy(c, C.tile({i * bm, j * bn}, {bm, bn}));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("w4a16_gemm", "C = A W^T with weights of 4 bits, of which 128 share a scale and a zero")
      .size("m", 64, {.onEmulator = 72})
      .size("n", 8192, {.onEmulator = 200})
      .size("groups", 64, {.onEmulator = 3, .help = "k / 128"})
      .program(w4a16)
      .random("Q", 0, 16)
      .random("Zero", 6, 9)
      .random("Scale", 0.01, 0.02)
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), Q = in.tensor("Q"), S = in.tensor("Scale"),
                             Z = in.tensor("Zero");
                   return [=, groups = in.values["groups"]](int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t g = 0; g < groups; ++g)
                       for (int64_t l = 0; l < group; ++l)
                         sum += A(i, g, l) * (Q(j, g, l) - Z(j, g)) * S(j, g);
                     return sum;
                   };
                 })
      .tolerance("C", {.limit = 0.02, .floor = 1}) // the weights are rounded to bf16
      .flops([](const Values &v) {
        return 2.0 * double(v["m"]) * double(v["n"]) * double(v["groups"]) * double(group);
      })
      .bench({{"m", "256"}});
}
