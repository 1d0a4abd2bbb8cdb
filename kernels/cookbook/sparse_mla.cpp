// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sparse latent attention (DeepSeek-V3.2): each query sees the rows of the latent cache that its indices
/// name.
///
/// Q is [batches, queries, heads, 576], Cache is [batches, keys, 576], bf16: a row of the cache is the key of
/// all heads, and its first 512 elements are their value. Indices is [batches, queries, top], i32; the last
/// query is at the last key, and an index that is negative or beyond the query's own position does not count.
/// O is [batches, queries, heads, 512], bf16, and LSE is [batches, queries, heads], f32, the logarithm to the
/// base 2 of the sum of exponentials. A query that sees nothing gets zeros in O and -inf in LSE.
///
/// A block is one query and 64 of its heads, which need the same rows. The TMA of sm_90a cannot gather, so
/// that the roles are written by hand: four warps gather 64 rows, by loads of 16 bytes, into the next of two
/// slots, while two warpgroups compute with the other one. Rows that do not count read as 0. A warpgroup has
/// half of the columns of each product, 32 of the scores and 256 of O, since all 512 are too many for its
/// registers; the weights go through a shared tile. The cache's row is two tiles, as one of
/// them is a value as well.
#include <cmath>
#include <numbers>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t latent = 512, rope = 64, row = latent + rope; ///< elements of the cache's rows

void sparseMla(Scope &k) {
  constexpr int64_t bm = 64, bn = 64, together = 16; // rows gathered at once: 8 loads of each thread
  const double scale = std::numbers::log2e / std::sqrt(double(row)); // for exp2
  Index batches = k.dim("batches"), queries = k.dim("queries"), heads = k.dim("heads");
  Index keys = k.dim("keys"), top = k.dim("top"), headTiles = ceilDiv(heads, bm);
  Global Q = k.input("Q", bf16, {batches, queries, heads, row}, {.alignment = 16});
  Global Cache = k.input("Cache", bf16, {batches, keys, row}, {.alignment = 16});
  Global Indices = k.input("Indices", i32, {batches, queries, top});
  Global O = k.output("O", bf16, {batches, queries, heads, latent});
  Global LSE = k.output("LSE", f32, {batches, queries, heads});
  auto [block] = k.grid(headTiles * queries * batches);
  Index head = block % headTiles * bm, query = block / headTiles % queries;
  Index batch = block / headTiles / queries, steps = ceilDiv(top, bn);

  Shared q = k.shared("q", bf16, {bm, latent}, {.slots = 1}),
         qRope = k.shared("q_rope", bf16, {bm, rope}, {.slots = 1});
  Shared c = k.shared("c", bf16, {bn, latent}, {.slots = 2}),
         cRope = k.shared("c_rope", bf16, {bn, rope}, {.slots = 2});
  Shared named = k.shared("named", i32, {bn}, {.slots = 2}), weights = k.shared("weights", bf16, {bm, bn});
  Channel loaded = k.channel("q", {.slots = 1}), gathered = k.channel("c", {.slots = 2});
  k.roles([&] {
    k.role("gather", {.warps = 4, .registers = 104}, [&] {
      Scalar position = (query + (keys - queries)).to(i32);
      loaded.put([&](const Slot &at) {
        copy(Q.tile({batch, query, head, 0}, {1, 1, bm, latent}), q.slot(at));
        copy(Q.tile({batch, query, head, latent}, {1, 1, bm, rope}), qRope.slot(at));
      });
      k.loop(steps, [&](Index step) {
        Slice indices = Indices.tile({batch, query, step * bn}, {1, 1, bn}).fill(-1);
        Fragment across = k.fragment(i32, {1, bn});
        copy(indices, across);
        gathered.put([&](const Slot &at) {
          copy(across, named.slot(at));
          for (int64_t first = 0; first < bn; first += together) {
            Fragment index = k.fragment(i32, {together, 1});
            copy(Indices.tile({batch, query, step * bn + first}, {1, 1, together}).fill(-1), index);
            index = where(index <= position, index, -1); // 0 times a row that is not yet written may be NaN
            copy(Cache.tile({batch, index.toIndex(), 0}, {1, together, latent}),
                 c.slot(at).rows(first, together));
            copy(Cache.tile({batch, index.toIndex(), latent}, {1, together, rope}),
                 cRope.slot(at).rows(first, together));
          }
        });
      });
    });
    k.role("math", {.warps = 8, .registers = 200}, [&] {
      constexpr WarpPolicy columns = WarpPolicy::fullColumn;
      Fragment o = k.fragment(f32, {bm, latent}).named("o");
      Fragment maximum = k.fragment(f32, {bm, 1}, -inf), sum = k.fragment(f32, {bm, 1});
      Scalar position = (query + (keys - queries)).to(i32);
      Slot once = loaded.get();
      k.loop(steps, [&](Index) {
        Fragment s = k.fragment(f32, {bm, bn}).named("s"), index = k.fragment(i32, {1, bn});
        Slot at = gathered.get();
        gemmAsync(q.slot(once), c.slot(at).t(), s, columns);
        gemmAsync(qRope.slot(once), cRope.slot(at).t(), s, columns);
        copy(named.slot(at), index);
        gemmWait(s);
        s = where(index >= 0 && index <= position, s, -inf);
        Fragment next = max(maximum, rowMax(s));
        FragmentValue base = finiteOrZero(next), p = exp2((s - base) * scale);
        FragmentValue rescale = exp2((maximum - base) * scale);
        sum = sum * rescale + rowSum(p);
        maximum = next;
        copy(p.to(bf16), weights);
        o = o * rescale;
        gemmAsync(weights, c.slot(at), o, columns);
        gemmWait(o);
        gathered.release();
      });
      copy(where(sum == 0, 0, o * (1 / sum)).to(bf16), O.tile({batch, query, head, 0}, {1, 1, bm, latent}));
      copy(log2(sum) + finiteOrZero(maximum) * scale, LSE.tile({batch, query, head}, {1, 1, bm}));
    });
  });
}

/// Of one query and head: its weights' sum, and their sum of values.
struct Row {
  double sum = 0;
  std::vector<double> values = std::vector<double>(latent);
};

Row attended(const HostInputs &in, int64_t b, int64_t s, int64_t h) {
  const HostArray &Q = in.tensor("Q"), &Cache = in.tensor("Cache"), &Indices = in.tensor("Indices");
  const int64_t position = s + in.values["keys"] - in.values["queries"];
  Row result;
  for (int64_t i = 0; i < in.values["top"]; ++i) {
    const auto key = int64_t(Indices(b, s, i));
    if (key < 0 || key > position)
      continue;
    double score = 0;
    for (int64_t l = 0; l < row; ++l)
      score += Q(b, s, h, l) * Cache(b, key, l);
    const double weight = std::exp(score / std::sqrt(double(row)));
    result.sum += weight;
    for (int64_t l = 0; l < latent; ++l)
      result.values[size_t(l)] += weight * Cache(b, key, l);
  }
  return result;
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("sparse_mla", "latent attention of each query to the rows of the cache that its indices name")
      .size("batches", 1, {.onEmulator = 1})
      .size("queries", 64, {.onEmulator = 3})
      .size("heads", 128, {.onEmulator = 70})
      .size("keys", 4096, {.least = 1, .onEmulator = 150})
      .size("top", 512, {.onEmulator = 100})
      .program(sparseMla)
      .contents("Indices", // in no order, some of them negative, some too late, and one row of no key at all
                [](const HostInputs &in) {
                  return [keys = in.values["keys"]](int64_t b, int64_t s, int64_t i) {
                    return s % 5 == 1 || i % 7 == 3 ? -1.0
                                                    : double((i * 7919 + s * 131 + b * 17) % (keys + 3));
                  };
                })
      .reference("O",
                 [](const HostInputs &in) {
                   return [&in, last = std::vector<int64_t>(), row = Row()](int64_t b, int64_t s, int64_t h,
                                                                            int64_t j) mutable {
                     if (last != std::vector{b, s, h}) {
                       row = attended(in, b, s, h);
                       last = {b, s, h};
                     }
                     return row.sum == 0 ? 0 : row.values[size_t(j)] / row.sum;
                   };
                 })
      .reference("LSE",
                 [](const HostInputs &in) {
                   return [&in](int64_t b, int64_t s, int64_t h) {
                     return std::log2(attended(in, b, s, h).sum);
                   };
                 })
      .tolerance("O", {.limit = 0.015, .floor = 0.25})
      .tolerance("LSE", {.limit = 0.001, .floor = 1})
      .flops([](const Values &v) {
        return 2.0 * double(v["batches"]) * double(v["queries"]) * double(v["heads"]) * double(v["top"]) *
               double(row + latent);
      })
      .bench({{"queries", "4096"}, {"keys", "32768"}, {"top", "2048"}});
}
