// SPDX-License-Identifier: Apache-2.0
/// \file
/// The selected branch of native sparse attention: each query sees the blocks of 64 keys that a list names.
///
/// Q and O are [queries, kvheads, group, 128], K and V are [keys, kvheads, 128], bf16: the `group` heads of a
/// query that share a head of keys share a list, too. List is [queries, kvheads, blocks], i32, in any order;
/// a negative number names no block. The last query is at the last key, and keys beyond the query's own
/// position do not count, but their rows of V have to be finite. A query that sees nothing gives zeros.
///
/// A block of threads is one query and one head of keys, and its loop visits only what the list names: the
/// position of a tile is read from the list, and the TMA loads it one round ahead. The group, 16 heads as a
/// rule, is the rows of the products; wgmma has 64 of them, and the others are zeros. (J. Yuan et al., Native
/// Sparse Attention, 2025)
#include <cmath>
#include <numbers>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t d = 128, bm = 64, bn = 64; ///< bn keys are a block

void selectedAttention(Scope &k) {
  const double scale = std::numbers::log2e / std::sqrt(double(d)); // for exp2
  Index queries = k.dim("queries"), keys = k.dim("keys"), kvHeads = k.dim("kvheads"),
        group = k.dim("group", {.most = bm});
  Index blocks = k.dim("blocks");
  Global Q = k.input("Q", bf16, {queries, kvHeads, group, d}),
         O = k.output("O", bf16, {queries, kvHeads, group, d});
  Global K = k.input("K", bf16, {keys, kvHeads, d}), V = k.input("V", bf16, {keys, kvHeads, d});
  Global List = k.input("List", i32, {queries, kvHeads, blocks});
  k.residents(2); // while one computes a softmax, the other multiplies
  auto [block] = k.grid(kvHeads * queries);
  Index head = block % kvHeads, query = block / kvHeads, position = query + (keys - queries);
  Shared q = k.shared("q", bf16, {bm, d}), keyTile = k.shared("k", bf16, {bn, d}),
         valueTile = k.shared("v", bf16, {bn, d});
  copy(Q.tile({query, head, 0, 0}, {1, 1, bm, d}), q);
  Fragment o = k.fragment(f32, {bm, d}).named("o");
  Fragment maximum = k.fragment(f32, {bm, 1}, -inf), sum = k.fragment(f32, {bm, 1});
  k.pipelined(blocks, {.stages = 2}, [&](Index i) {
    Index first = List.read({query, head, i}) * bn;
    copy(K.tile({first, head, 0}, {bn, 1, d}), keyTile);
    copy(V.tile({first, head, 0}, {bn, 1, d}), valueTile);
    Fragment s = k.fragment(f32, {bm, bn}).named("s");
    gemm(q, keyTile.t(), s);
    k.when(first < 0 || first + bn > position + 1, [&] {
      s = where([&](Index, Index key) { return first >= 0 && first + key <= position; }, s, -inf);
    });
    Fragment next = max(maximum, rowMax(s));
    FragmentValue base = finiteOrZero(next), p = exp2((s - base) * scale);
    FragmentValue rescale = exp2((maximum - base) * scale);
    sum = sum * rescale + rowSum(p);
    o = o * rescale;
    maximum = next;
    gemm(p.to(bf16), valueTile, o);
  });
  copy(where(sum == 0, 0, o * (1 / sum)).to(bf16), O.tile({query, head, 0, 0}, {1, 1, bm, d}));
}

/// O of one query and head.
std::vector<double> attended(const HostInputs &in, int64_t t, int64_t h, int64_t g) {
  const HostArray &Q = in.tensor("Q"), &K = in.tensor("K"), &V = in.tensor("V"), &List = in.tensor("List");
  const int64_t position = t + in.values["keys"] - in.values["queries"];
  std::vector<double> o(d);
  double sum = 0;
  for (int64_t i = 0; i < in.values["blocks"]; ++i) {
    const int64_t first = int64_t(List(t, h, i)) * bn;
    for (int64_t s = first; first >= 0 && s < std::min(first + bn, position + 1); ++s) {
      double score = 0;
      for (int64_t l = 0; l < d; ++l)
        score += Q(t, h, g, l) * K(s, h, l);
      const double weight = std::exp(score / std::sqrt(double(d)));
      sum += weight;
      for (int64_t l = 0; l < d; ++l)
        o[size_t(l)] += weight * V(s, h, l);
    }
  }
  for (double &each : o)
    each = sum == 0 ? 0 : each / sum;
  return o;
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("selected_attention", "attention of each query to the blocks of 64 keys that its list names")
      .size("queries", 256, {.onEmulator = 5})
      .size("keys", 4096, {.onEmulator = 200})
      .size("kvheads", 4, {.onEmulator = 2})
      .size("group", 16, {.least = 1, .most = bm, .onEmulator = 6, .help = "heads of Q for one of K"})
      .size("blocks", 16, {.onEmulator = 4, .help = "of 64 keys that a query sees"})
      .program(selectedAttention)
      .contents("List", // different blocks, some of them none, some beyond the query or the last key
                [](const HostInputs &in) {
                  return [tiles = in.values["keys"] / bn + 2](int64_t t, int64_t h, int64_t i) {
                    return t % 4 == 2 || (t + i) % 9 == 8 ? -1.0 : double((t * 5 + h * 3 + i) % tiles);
                  };
                })
      .reference("O",
                 [](const HostInputs &in) {
                   return [&in, last = std::vector<int64_t>(),
                           o = std::vector<double>()](int64_t t, int64_t h, int64_t g, int64_t j) mutable {
                     if (last != std::vector{t, h, g}) {
                       last = {t, h, g};
                       o = attended(in, t, h, g);
                     }
                     return o[size_t(j)];
                   };
                 })
      .tolerance("O", {.limit = 0.015, .floor = 0.25})
      .flops([](const Values &v) {
        return 4.0 * double(v["queries"]) * double(v["kvheads"]) * double(v["group"]) * double(v["blocks"]) *
               bn * d;
      })
      .bench({{"queries", "8192"}, {"keys", "8192"}})
      .bench({{"queries", "4096"}, {"keys", "65536"}});
}
