// SPDX-License-Identifier: Apache-2.0
/// \file
/// Decoding with a mask of the user's: one query of each sequence sees the cached keys whose mask is not 0.
///
/// Q and O are [batches, kvheads, group, 128], K and V are [batches, keys, kvheads, 128], bf16: `group` heads
/// of a query share a head of keys. Mask is [batches, kvheads, keys], u8. A query that sees no key gives
/// zeros, whatever K and V hold. Elsewhere a masked key has the weight 0, and 0 times a number of V that is
/// not finite is NaN, as in a product with a masked matrix.
///
/// A few sequences do not fill a device, so that the keys of each are divided among `splits` blocks (flash
/// decoding). The first launch leaves what each block has found, divided by the sum of its weights, and the
/// logarithm of that sum, from which the second launch makes their weighted mean.
///
/// Keys and values are read once, by the TMA two rounds ahead; that their rows are aligned is declared, so
/// that masks of any length do not keep them from it. The mask of a round is loaded in the round before. Keys
/// beyond the end read as masked.
///
/// Keys are the rows of the products and the heads of the group their columns, 16 at a time: few columns, so
/// that a thread holds few numbers and computes the weights of few heads that are none. The weights of a
/// round go to shared memory, as the product with the values reads them there.
#include <cmath>
#include <numbers>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t d = 128, bn = 64; ///< elements of a row, keys of a round
constexpr int64_t heads = 16;       ///< of a group, that a block has

void maskedDecode(Scope &k, const Values &v) {
  const int64_t splits = v["splits"];
  const double scale = std::numbers::log2e / std::sqrt(double(d)); // for exp2
  Index batches = k.dim("batches"), kvHeads = k.dim("kvheads"), group = k.dim("group"), keys = k.dim("keys");
  Global Q = k.input("Q", bf16, {batches, kvHeads, group, d}, {.alignment = 16});
  Global O = k.output("O", bf16, {batches, kvHeads, group, d});
  Global K = k.input("K", bf16, {batches, keys, kvHeads, d}, {.alignment = 16});
  Global V = k.input("V", bf16, {batches, keys, kvHeads, d}, {.alignment = 16});
  Global Mask = k.input("Mask", u8, {batches, kvHeads, keys});
  Global parts = k.workspace("parts", f32, {batches, kvHeads, splits, group, d});
  Global sums = k.workspace("sums", f32, {batches, kvHeads, group, splits});
  k.launch("masked_decode_parts", [&] {
    k.residents(2); // while one waits for a product, another computes
    Index pairs = kvHeads * ceilDiv(group, heads);
    auto [block] = k.grid(pairs * splits * batches);
    Index pair = block % pairs, split = block / pairs % splits, batch = block / pairs / splits;
    Index head = pair % kvHeads, first = pair / kvHeads * heads;
    Shared q = k.shared("q", bf16, {heads, d}), keyTile = k.shared("k", bf16, {bn, d});
    Shared valueTile = k.shared("v", bf16, {bn, d}), weights = k.shared("weights", bf16, {bn, heads});
    copy(Q.tile({batch, head, first, 0}, {1, 1, heads, d}), q);
    Fragment o = k.fragment(f32, {d, heads}).named("o"), nextMask = k.fragment(u8, {bn, 1});
    Fragment maximum = k.fragment(f32, {1, heads}, -inf), sum = k.fragment(f32, {1, heads});
    Index tiles = ceilDiv(keys, bn), ofSplit = ceilDiv(tiles, splits);
    auto maskOf = [&](const Index &i) { return Mask.tile({batch, head, i * bn}, {1, 1, bn}); };
    copy(maskOf(split * ofSplit), nextMask);
    k.pipelined({split * ofSplit, min((split + 1) * ofSplit, tiles)}, {.stages = 2}, [&](Index i) {
      copy(K.tile({batch, i * bn, head, 0}, {1, bn, 1, d}), keyTile);
      copy(V.tile({batch, i * bn, head, 0}, {1, bn, 1, d}), valueTile);
      Fragment s = k.fragment(f32, {bn, heads}).named("s"), mask = nextMask;
      copy(maskOf(i + 1), nextMask);
      gemm(keyTile, q.t(), s);
      s = where(mask != 0, s, -inf);
      Fragment next = max(maximum, reduce(Reduction::max, s, 0));
      FragmentValue base = finiteOrZero(next), p = exp2((s - base) * scale);
      FragmentValue rescale = exp2((maximum - base) * scale);
      sum = sum * rescale + reduce(Reduction::sum, p, 0);
      o = o * rescale;
      maximum = next;
      copy(p.to(bf16), weights);
      gemm(valueTile.t(), weights, o);
    });
    // Heads become rows by way of shared memory.
    Shared result = k.shared("result", f32, {d, heads}), logarithms = k.shared("logarithms", f32, {1, heads});
    copy(where(sum == 0, 0, o * (1 / sum)), result);
    copy(log2(sum) + finiteOrZero(maximum) * scale, logarithms);
    Fragment ofHeads = k.fragment(f32, {heads, d}), logarithmOfHeads = k.fragment(f32, {heads, 1});
    copy(result.t(), ofHeads);
    copy(logarithms.t(), logarithmOfHeads);
    copy(ofHeads, parts.tile({batch, head, split, first, 0}, {1, 1, 1, heads, d}));
    copy(logarithmOfHeads, sums.tile({batch, head, first, split}, {1, 1, heads, 1}));
  });
  k.launch("masked_decode_combine", [&] {
    constexpr int64_t rows = 8;
    Index ofGroup = ceilDiv(group, rows);
    auto [block] = k.grid(ofGroup * kvHeads * batches);
    Index first = block % ofGroup, head = block / ofGroup % kvHeads, batch = block / ofGroup / kvHeads;
    Fragment sum = k.fragment(f32, {rows, splits}), o = k.fragment(f32, {rows, d});
    copy(sums.tile({batch, head, first * rows, 0}, {1, 1, rows, splits}).fill(-inf), sum);
    FragmentValue share = exp2(sum - finiteOrZero(rowMax(sum))), number = k.positions({1, splits}, 1);
    for (int64_t split = 0; split < splits; ++split) { // all loads under way at once
      Fragment part = k.fragment(f32, {rows, d});
      copy(parts.tile({batch, head, split, first * rows, 0}, {1, 1, 1, rows, d}), part);
      o += part * rowSum(where(number == split, share, 0));
    }
    FragmentValue all = rowSum(share);
    copy(where(all == 0, 0, o * (1 / all)).to(bf16), O.tile({batch, head, first * rows, 0}, {1, 1, rows, d}));
  });
}

/// O of one query and head.
std::vector<double> attended(const HostInputs &in, int64_t b, int64_t h, int64_t g) {
  const HostArray &Q = in.tensor("Q"), &K = in.tensor("K"), &V = in.tensor("V"), &Mask = in.tensor("Mask");
  std::vector<double> o(d);
  double sum = 0;
  for (int64_t s = 0; s < in.values["keys"]; ++s) {
    if (Mask(b, h, s) == 0)
      continue;
    double score = 0;
    for (int64_t l = 0; l < d; ++l)
      score += Q(b, h, g, l) * K(b, s, h, l);
    const double weight = std::exp(score / std::sqrt(double(d)));
    sum += weight;
    for (int64_t l = 0; l < d; ++l)
      o[size_t(l)] += weight * V(b, s, h, l);
  }
  for (double &each : o)
    each = sum == 0 ? 0 : each / sum;
  return o;
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("masked_decode", "attention of one query of each sequence to the keys that a mask names")
      .size("batches", 4, {.onEmulator = 2})
      .size("kvheads", 8, {.onEmulator = 2})
      .size("group", 8, {.least = 1, .most = 64, .onEmulator = 5, .help = "heads of Q for one of K"})
      .size("keys", 8192, {.onEmulator = 300})
      .constant("splits", 16,
                {.least = 1, .most = 64, .onEmulator = 3, .help = "blocks that share a sequence's keys"})
      .program(maskedDecode)
      .contents("Mask", // one in three keys, and none for one of the sequences
                [](const HostInputs &) {
                  return [](int64_t b, int64_t h, int64_t s) {
                    return b % 4 == 1 && h == 0 ? 0.0 : double((s * 7 + h) % 3 == 0);
                  };
                })
      .reference("O",
                 [](const HostInputs &in) {
                   return [&in, last = std::vector<int64_t>(),
                           o = std::vector<double>()](int64_t b, int64_t h, int64_t g, int64_t j) mutable {
                     if (last != std::vector{b, h, g}) {
                       last = {b, h, g};
                       o = attended(in, b, h, g);
                     }
                     return o[size_t(j)];
                   };
                 })
      .tolerance("O", {.limit = 0.015, .floor = 0.25})
      .flops([](const Values &v) {
        return 4.0 * double(v["batches"]) * double(v["kvheads"]) * double(v["group"]) * double(v["keys"]) * d;
      })
      .bench({{"batches", "8"}, {"keys", "65536"}})
      .bench({{"batches", "64"}, {"keys", "8192"}, {"splits", "4"}});
}
