// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention in which each tile of 128 queries sees some tiles of 128 keys, which a list names.
///
/// Q, K, V and O are [heads, tokens, 64], bf16. Count is [heads, ceil(tokens / 128)], i32: how many tiles of
/// keys a tile of queries sees; List is [heads, ceil(tokens / 128), most], i32: which, in any order. Tiles
/// before the first key and keys after the last one do not count. A tile of queries with an empty list gives
/// zeros.
///
/// The loop over keys has as many rounds as Count says, and the position of a tile is read from List, so that
/// nothing is loaded that is not seen; the TMA takes positions from registers. Otherwise this is flash
/// attention: two warpgroups compute 64 queries each, the softmax is online, the scores of a round are the
/// left factor of its second product, and tiles of K and V come two rounds ahead.
#include <cmath>
#include <numbers>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t d = 64, bm = 128, bn = 128;

void blockSparseAttention(Scope &k) {
  constexpr double scale = std::numbers::log2e / 8; // 1 / sqrt(d), for exp2
  Index heads = k.dim("heads"), tokens = k.dim("tokens"), most = k.dim("most"), tiles = ceilDiv(tokens, bm);
  Global Q = k.input("Q", bf16, {heads, tokens, d}), K = k.input("K", bf16, {heads, tokens, d});
  Global V = k.input("V", bf16, {heads, tokens, d}), O = k.output("O", bf16, {heads, tokens, d});
  Global Count = k.input("Count", i32, {heads, tiles}), List = k.input("List", i32, {heads, tiles, most});
  auto [block] = k.grid(tiles * heads);
  Index own = block % tiles, head = block / tiles;
  auto tile = [&](const Global &tensor, const Index &i) {
    return tensor.tile({head, i * bm, 0}, {1, bm, d});
  };
  Shared q = k.shared("q", bf16, {bm, d}), keys = k.shared("k", bf16, {bn, d}),
         values = k.shared("v", bf16, {bn, d});
  copy(tile(Q, own), q);
  Fragment o = k.fragment(f32, {bm, d}).named("o");
  Fragment maximum = k.fragment(f32, {bm, 1}, -inf), sum = k.fragment(f32, {bm, 1});
  Index count = Count.read({head, own});
  k.pipelined(count, {.stages = 2}, [&](Index i) {
    Index j = List.read({head, own, i});
    copy(tile(K, j), keys);
    copy(tile(V, j), values);
    Fragment s = k.fragment(f32, {bm, bn}).named("s");
    gemm(q, keys.t(), s);
    k.when(j < 0 || (j + 1) * bn > tokens,
           [&] { s = where([&](Index, Index key) { return j >= 0 && j * bn + key < tokens; }, s, -inf); });
    Fragment next = max(maximum, rowMax(s));
    FragmentValue base = finiteOrZero(next), p = exp2((s - base) * scale);
    FragmentValue rescale = exp2((maximum - base) * scale);
    sum = sum * rescale + rowSum(p);
    o = o * rescale;
    maximum = next;
    gemm(p.to(bf16), values, o);
  });
  copy(where(sum == 0, 0, o * (1 / sum)).to(bf16), tile(O, own));
}

} // namespace

void registerKernels(KernelFile &file) {
  auto countOf = [](int64_t tile, int64_t most) { return (tile * 2 + 1) % (most + 1); };
  auto keyTile = [](int64_t tile, int64_t i, int64_t tiles) { return (tile + i * 3 + 1) % tiles; };
  file.kernel("block_sparse_attention",
              "attention of tiles of 128 queries to the tiles of 128 keys that a list names")
      .size("heads", 8, {.onEmulator = 2})
      .size("tokens", 2048, {.onEmulator = 400})
      .size("most", 8, {.least = 1, .onEmulator = 3, .help = "the longest list"})
      .program(blockSparseAttention)
      .contents("Count",
                [=](const HostInputs &in) {
                  return [=, most = in.values["most"]](int64_t, int64_t tile) {
                    return double(countOf(tile, most));
                  };
                })
      .contents("List",
                [=](const HostInputs &in) {
                  return [=, tiles = in.tensor("Count").shape()[1]](int64_t, int64_t tile, int64_t i) {
                    return double(keyTile(tile, i, tiles));
                  };
                })
      .reference("O",
                 [](const HostInputs &in) {
                   HostArray Q = in.tensor("Q"), K = in.tensor("K"), V = in.tensor("V");
                   HostArray Count = in.tensor("Count"), List = in.tensor("List");
                   std::vector<double> row(d); // of the query asked for last
                   return [=, last = int64_t(-1), tokens = in.values["tokens"]](int64_t h, int64_t t,
                                                                                int64_t j) mutable {
                     if (last != h * tokens + t) {
                       last = h * tokens + t;
                       row.assign(d, 0);
                       double sum = 0;
                       for (int64_t i = 0; i < int64_t(Count(h, t / bm)); ++i)
                         for (int64_t s = int64_t(List(h, t / bm, i)) * bn, end = std::min(s + bn, tokens);
                              s < end; ++s) {
                           double score = 0;
                           for (int64_t l = 0; l < d; ++l)
                             score += Q(h, t, l) * K(h, s, l);
                           sum += std::exp(score / 8);
                           for (int64_t l = 0; l < d; ++l)
                             row[size_t(l)] += std::exp(score / 8) * V(h, s, l);
                         }
                       for (double &o : row)
                         o = sum == 0 ? 0 : o / sum;
                     }
                     return row[size_t(j)];
                   };
                 })
      .tolerance("O", {.limit = 0.01, .floor = 1})
      .flops([](const Values &v) {
        return 4.0 * double(v["heads"]) * double(v["tokens"]) * double(v["most"]) * bn * d;
      })
      .bench({{"heads", "32"}, {"tokens", "8192"}, {"most", "16"}});
}
