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
/// needs.) The bits of 16 + q are those of q, shifted, and of 16, which takes less than a conversion.
///
/// A tile is 128 rows of weights by 64 tokens, as few tokens are usual when weights are small. A step along k
/// is one group, so that each row has one scale. Few tokens are few tiles, so that `splits` blocks share the
/// sum along k of each; a second launch adds what they have, and turns it round.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 128; ///< weights with one scale

void w4a16(Scope &k, const Values &v) {
  constexpr int64_t bm = 64, bn = 128;
  const int64_t splits = v["splits"];
  Index m = k.dim("m"), n = k.dim("n"), groups = k.dim("groups");
  Global A = k.input("A", bf16, {m, groups, group}), Q = k.input("Q", u4, {n, groups, group});
  Global Scale = k.input("Scale", bf16, {n, groups}, {.alignment = 2}),
         Zero = k.input("Zero", bf16, {n, groups}, {.alignment = 2});
  Global C = k.output("C", bf16, {m, n});
  Global parts = k.workspace("parts", f32, {splits, n, m});
  k.launch("w4a16_gemm_parts", [&] {
    k.residents(2); // while one converts weights, the other multiplies
    auto [j, i, split] = k.grid(ceilDiv(n, bn), ceilDiv(m, bm), splits);
    Index each = ceilDiv(groups, splits);
    Shared a = k.shared("a", bf16, {bm, group}), q = k.shared("q", u4, {bn, group});
    Fragment acc = k.fragment(f32, {bn, bm}).named("acc");
    k.pipelined({split * each, min((split + 1) * each, groups)}, {.stages = 3}, [&, j = j, i = i](Index s) {
      copy(A.tile({i * bm, s, 0}, {bm, 1, group}), a);
      copy(Q.tile({j * bn, s, 0}, {bn, 1, group}), q);
      Fragment code = k.fragment(u4, {bn, group});
      Fragment scale = k.fragment(bf16, {bn, 1}), zero = k.fragment(bf16, {bn, 1});
      copy(q, code);
      copy(Scale.tile({j * bn, s}, {bn, 1}), scale);
      copy(Zero.tile({j * bn, s}, {bn, 1}), zero);
      FragmentValue shifted = bitcast((code.to(u32) << 19) | 0x41800000u, f32); // 16 + q
      gemm(((shifted - (zero.to(f32) + 16)) * scale.to(f32)).to(bf16), a.t(), acc);
    });
    copy(acc, parts.tile({split, j * bn, i * bm}, {1, bn, bm}));
  });
  k.launch("w4a16_gemm_sum", [&] {
    constexpr int64_t rows = 64, columns = 32; // of the sum: rows of weights by tokens
    auto [j, i] = k.grid(ceilDiv(n, rows), ceilDiv(m, columns));
    Fragment sum = k.fragment(f32, {rows, columns}), part = k.fragment(f32, {rows, columns});
    for (int64_t split = 0; split < splits; ++split) { // all loads under way at once
      copy(parts.tile({split, j * rows, i * columns}, {1, rows, columns}), part);
      sum += part;
    }
    Shared turned = k.shared("turned", bf16, {rows, columns});
    copy(sum.to(bf16), turned);
    Fragment c = k.fragment(bf16, {columns, rows});
    copy(turned.t(), c);
    copy(c, C.tile({i * columns, j * rows}, {columns, rows}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("w4a16_gemm", "C = A W^T with weights of 4 bits, of which 128 share a scale and a zero")
      .size("m", 64, {.onEmulator = 72})
      .size("n", 8192, {.onEmulator = 200})
      .size("groups", 64, {.onEmulator = 3, .help = "k / 128"})
      .constant("splits", 4,
                {.least = 1, .most = 32, .onEmulator = 2, .help = "blocks that share a tile's sum"})
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
