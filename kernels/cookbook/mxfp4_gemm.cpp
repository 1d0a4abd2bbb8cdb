// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM with weights in MXFP4, the format of OCP: C = A W^T with w = q 2^(e - 127).
///
/// A is [m, k], bf16; Q is [n, k / 8], u32: weight l of a row has the bits 4 (l % 8) to 4 (l % 8) + 3 of word
/// l / 8, in e2m1; E is [n, k / 32], u8: the exponent that 32 weights along a row have in common. C is [m,
/// n], bf16; sums are f32. k is a multiple of 32. Weights become bf16 without rounding: e2m1 has one
/// fractional bit. As OCP has it, e = 255 is NaN. Weights of 2^128 and more, which bf16 lacks, are infinite.
///
/// The product is C^T = W A^T: the weights are the left factor, which may be in registers, so that they are
/// converted there and never written to memory as bf16. A thread has whole words. What the words have at one
/// place makes a product with every eighth column of A, which a launch before brings together. The bits of
/// e2m1, moved to the sign, the last two bits of the exponent and the first of the fraction of an f32, are
/// the weight times 2^-126, also where its exponent is 0: two products with powers of two make up for that,
/// as one power may be beyond f32.
///
/// A tile is 128 rows of weights by `tokens`, of which many are worthwhile, as each weight is converted once
/// for all of them. A step along k is 128 columns, four groups.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 32, perWord = 8; ///< weights with one exponent; weights in a word
constexpr int64_t words = 16;              ///< of a row in a step
constexpr int64_t together = words * perWord / group;

/// The weights at one place of their words as f32, times 2^-126.
FragmentValue weightsAt(const Fragment &word, int64_t place) {
  FragmentValue bits = (word << (28 - 4 * place)) & 0xf0000000u; // sign, exponent, fraction
  return bitcast((bits.to(i32) >> 6).to(u32) & 0x81c00000u, f32);
}

void mxfp4(Scope &k, const Values &v) {
  constexpr int64_t bn = 128;
  const int64_t bm = v["tokens"];
  Index m = k.dim("m"), n = k.dim("n"), groups = k.dim("groups");
  Global A = k.input("A", bf16, {m, groups * group}), Q = k.input("Q", u32, {n, groups * (group / perWord)});
  Global E = k.input("E", u8, {n, groups}, {.alignment = 1}), C = k.output("C", bf16, {m, n});
  Index steps = ceilDiv(groups, together), tokenTiles = ceilDiv(m, bm);
  Global ordered = k.workspace("ordered", bf16, {steps, tokenTiles, perWord * bm, words}, {.alignment = 16});
  k.launch("mxfp4_gemm_order", [&] {
    auto [s, i] = k.grid(steps, tokenTiles);
    for (int64_t place = 0; place < perWord; ++place) {
      Fragment a = k.fragment(bf16, {bm, words});
      Index column = (k.positions({1, words}, 1) * perWord + place).toIndex() + s * (words * perWord);
      copy(A.tile({i * bm, column}, {bm, words}), a);
      copy(a, ordered.tile({s, i, place * bm, 0}, {1, 1, bm, words}));
    }
  });
  k.launch("mxfp4_gemm_product", [&] {
    auto [j, i] = k.grid(ceilDiv(n, bn), tokenTiles);
    Shared a = k.shared("a", bf16, {perWord * bm, words}), q = k.shared("q", u32, {bn, words});
    Fragment acc = k.fragment(f32, {bn, bm}).named("acc"), exponent = k.fragment(u8, {bn, words});
    auto loadExponents = [&, j = j](const Index &s) { // of each word
      Index which = (k.positions({1, words}, 1) / (group / perWord)).toIndex() + s * together;
      copy(E.tile({j * bn, which}, {bn, words}), exponent);
    };
    loadExponents(0);
    k.pipelined(steps, {.stages = 2}, [&, j = j, i = i](Index s) {
      copy(ordered.tile({s, i, 0, 0}, {1, 1, perWord * bm, words}), a);
      copy(Q.tile({j * bn, s * words}, {bn, words}), q);
      Fragment word = k.fragment(u32, {bn, words});
      copy(q, word);
      // 2^(e - 127) 2^126 is 2^half 2^(e - half - 1).
      FragmentValue e = exponent.to(u32), half = e >> 1;
      FragmentValue first = bitcast((half + 127) << 23, f32);
      FragmentValue second = bitcast(where(e == 255, 0x7fc00000, (e - half + 126) << 23), f32);
      loadExponents(s + 1); // which the next step need not wait for
      for (int64_t place = 0; place < perWord; ++place)
        gemm((weightsAt(word, place) * first * second).to(bf16), a.rows(place * bm, bm).t(), acc);
    });
    Shared c = k.shared("c", bf16, {bm, bn});
    copy(acc.to(bf16), c.t());
    copy(c, C.tile({i * bm, j * bn}, {bm, bn}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("mxfp4_gemm", "C = A W^T with weights in MXFP4: e2m1, of which 32 share an exponent")
      .size("m", 256, {.onEmulator = 136})
      .size("n", 8192, {.onEmulator = 200})
      .size("groups", 256, {.onEmulator = 7, .help = "k / 32"})
      .constant("tokens", 256, {.least = 64, .most = 256, .multipleOf = 64, .help = "of a tile"})
      .program(mxfp4)
      .contents("Q",
                [](const HostInputs &) { // eight weights
                  return [](int64_t i, int64_t w) {
                    return double(uint32_t(i * 73856093 ^ w * 83492791) * 2654435761u);
                  };
                })
      .random("E", 120, 126)
      .reference("C",
                 [](const HostInputs &in) {
                   static constexpr double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
                   HostArray A = in.tensor("A"), Q = in.tensor("Q"), E = in.tensor("E");
                   return [=, groups = in.values["groups"]](int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t l = 0; l < groups * group; ++l) {
                       uint32_t q = uint32_t(Q(j, l / perWord)) >> l % perWord * 4 & 15;
                       double e = E(j, l / group), w = numbers[q & 7] * (q & 8 ? -1 : 1);
                       sum += A(i, l) * w * (e == 255 ? NAN : std::exp2(e - 127));
                     }
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        return 2.0 * double(v["m"]) * double(v["n"]) * double(v["groups"]) * double(group);
      })
      .bench({{"m", "4096"}});
}
