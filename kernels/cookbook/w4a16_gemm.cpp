// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GEMM with weights of 4 bits: C = A W^T with w = (q - zero) scale.
///
/// A is [m, k], bf16; Q is [n, k / 8], u32: weight l of a row has the bits 4 (l % 8) to 4 (l % 8) + 3 of word
/// l / 8. Scale and Zero are [n, k / 128], bf16: 128 weights along a row have one scale and one zero in
/// common. C is [m, n], bf16; sums are f32. k is a multiple of 128, and the program sees A as [m, groups,
/// 128] and Q as [n, groups, 16], which is the same memory.
///
/// The product is C^T = W A^T: the weights are the left factor, which may be in registers, so that they are
/// converted there and never written to memory as bf16. The bits of q and of 128 are those of 128 + q in
/// bf16, so that a shift and a bit operation make two weights of a word, p and 4 + p, a pair of bf16; a
/// subtraction and a product with a sum, of pairs, too, make them weights. What the words have at the places
/// p makes a product with two of every eight columns of A, which the first launch brings together.
///
/// A tile is 128 rows of weights by up to 128 tokens, as few tokens are usual when weights are small. A step
/// along k is one group, so that each row has one scale. Few tokens are few tiles, so that `splits` blocks
/// share the sum along k of each; the last launch adds what they have, and turns it round.
///
/// The roles are written by hand, so that the products of a step are started one after the other and awaited
/// once. A pipelined loop awaits each product before the next one on the same sum, if a factor is in
/// registers. Two warpgroups and, of up to 64 tokens, two blocks on a multiprocessor multiply and convert in
/// turn. Products that are started by hand are wgmma, which sm_90a has.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t group = 128;             ///< weights with one scale
constexpr int64_t perWord = 8, words = 16; ///< weights in a word; words of a group
constexpr int64_t places = perWord / 2;    ///< pairs of weights in a word
constexpr int64_t pairs = 2 * words;       ///< weights of a group at one place of their words

/// A scale and a zero of each row as pairs of weights take them: w = ((128 + q) - start) scale + rest.
struct Scales {
  FragmentValue start, scale, rest;

  /// `start` is 128 + zero, rounded to bf16, so that the difference is exact; `rest` makes up for the
  /// rounding, and is rounded itself, but small.
  Scales(const Fragment &factor, const Fragment &zero)
      : start((zero.to(f32) + 128).to(bf16)), scale(factor),
        rest(((start.to(f32) - 128 - zero.to(f32)) * factor.to(f32)).to(bf16)) {}
};

/// The weights at a place of their words, two for each word.
FragmentValue weightsAt(const Fragment &word, int64_t place, const Scales &of) {
  FragmentValue moved = place == 0 ? FragmentValue(word) : word >> place * 4;
  FragmentValue numbers = bitcast((moved & 0x000f000fu) | 0x43004300u, bf16); // 128 + q
  return fma(numbers - of.start, of.scale, of.rest);
}

void w4a16(Scope &k, const Values &v) {
  constexpr int64_t bn = 128;
  const int64_t bm = v["tokens"], splits = v["splits"];
  Index m = k.dim("m"), n = k.dim("n"), groups = k.dim("groups");
  Global A = k.input("A", bf16, {m, groups, group}),
         Q = k.input("Q", u32, {n, groups, words}, {.alignment = 16});
  Global Scale = k.input("Scale", bf16, {n, groups}, {.alignment = 2}),
         Zero = k.input("Zero", bf16, {n, groups}, {.alignment = 2});
  Global C = k.output("C", bf16, {m, n});
  Index tokenTiles = ceilDiv(m, bm);
  Global ordered = k.workspace("ordered", bf16, {groups, tokenTiles, places * bm, pairs}, {.alignment = 16});
  Global parts = k.workspace("parts", f32, {splits, n, m});
  k.launch("w4a16_gemm_order", [&] {
    auto [block] = k.grid(groups * tokenTiles);
    Index s = block % groups, i = block / groups;
    for (int64_t place = 0; place < places; ++place) { // columns place, place + 4, place + 8, ...
      Fragment a = k.fragment(bf16, {bm, pairs});
      Index column = (k.positions({1, pairs}, 1) * places + place).toIndex();
      copy(A.tile({i * bm, s, column}, {bm, 1, pairs}), a);
      copy(a, ordered.tile({s, i, place * bm, 0}, {1, 1, bm, pairs}));
    }
  });
  k.launch("w4a16_gemm_parts", [&] {
    k.residents(bm > 64 ? 1 : 2);
    Index across = ceilDiv(n, bn);
    auto [block] = k.grid(across * tokenTiles * splits);
    Index j = block % across, i = block / across % tokenTiles, split = block / across / tokenTiles;
    constexpr int64_t stages = 3;
    Index each = ceilDiv(groups, splits), from = split * each, to = min(from + each, groups);
    Shared a = k.shared("a", bf16, {places * bm, pairs}, {.slots = stages}),
           q = k.shared("q", u32, {bn, words}, {.slots = stages});
    Channel aq = k.channel("aq", {.slots = stages});
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        k.loop({from, to}, [&](Index s) {
          aq.put([&](const Slot &at) {
            copy(ordered.tile({s, i, 0, 0}, {1, 1, places * bm, pairs}), a.slot(at));
            copy(Q.tile({j * bn, s, 0}, {bn, 1, words}), q.slot(at));
          });
        });
      });
      k.role("math", {.warps = 8}, [&] {
        Fragment acc = k.fragment(f32, {bn, bm}).named("acc");
        Fragment scale = k.fragment(bf16, {bn, 1}), zero = k.fragment(bf16, {bn, 1});
        auto loadScales = [&](const Index &s) {
          copy(Scale.tile({j * bn, s}, {bn, 1}), scale);
          copy(Zero.tile({j * bn, s}, {bn, 1}), zero);
        };
        loadScales(from);
        k.loop({from, to}, [&](Index s) {
          Slot at = aq.get();
          Fragment word = k.fragment(u32, {bn, words});
          copy(q.slot(at), word);
          Scales scales(scale, zero);
          loadScales(s + 1); // which the next step need not wait for
          std::vector<FragmentValue> weights;
          for (int64_t place = 0; place < places; ++place)
            weights.push_back(weightsAt(word, place, scales));
          for (int64_t place = 0; place < places; ++place)
            gemmAsync(weights[size_t(place)], a.slot(at).rows(place * bm, bm).t(), acc);
          gemmWait(acc);
          aq.release();
        });
        copy(acc, parts.tile({split, j * bn, i * bm}, {1, bn, bm}));
      });
    });
  });
  k.launch("w4a16_gemm_sum", [&] {
    constexpr int64_t rows = 64, columns = 32; // of the sum: rows of weights by tokens
    Index across = ceilDiv(n, rows);
    auto [block] = k.grid(across * ceilDiv(m, columns));
    Index j = block % across, i = block / across;
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
      .constant("tokens", 64, {.least = 8, .most = 128, .multipleOf = 8, .help = "of a tile"})
      .constant("splits", 4,
                {.least = 1, .most = 32, .onEmulator = 2, .help = "blocks that share a tile's sum"})
      .program(w4a16)
      .contents("Q",
                [](const HostInputs &) { // eight numbers of 4 bits
                  return [](int64_t i, int64_t g, int64_t w) {
                    return double(uint32_t(i * 73856093 ^ g * 19349663 ^ w * 83492791) * 2654435761u);
                  };
                })
      .random("Zero", 6, 9)
      .random("Scale", 0.01, 0.02)
      .reference("C",
                 [](const HostInputs &in) {
                   HostArray A = in.tensor("A"), Q = in.tensor("Q"), S = in.tensor("Scale"),
                             Z = in.tensor("Zero");
                   return [=, groups = in.values["groups"]](int64_t i, int64_t j) {
                     double sum = 0;
                     for (int64_t g = 0; g < groups; ++g)
                       for (int64_t l = 0; l < group; ++l) {
                         uint32_t q = uint32_t(Q(j, g, l / perWord)) >> l % perWord * 4 & 15;
                         sum += A(i, g, l) * (q - Z(j, g)) * S(j, g);
                       }
                     return sum;
                   };
                 })
      .tolerance("C", {.limit = 0.04, .floor = 1}) // the weights are rounded to bf16
      .flops([](const Values &v) {
        return 2.0 * double(v["m"]) * double(v["n"]) * double(v["groups"]) * double(group);
      })
      .bench({{"m", "256"}});
}
