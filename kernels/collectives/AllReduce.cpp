// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the all-reduce: reduce-scatter and all-gather by loads of other ranks' memory, or both at
/// once by NVLink multicast.
#include "kernels/collectives/AllReduce.h"

#include "kernels/ranks/RankEnd.h"

namespace tlc::kernels {

using namespace dsl;

namespace {
struct Operands {
  AllReduceConfig config;
  Index rank, ranks, n;
  Symmetric X, reduced; ///< the tiles of each rank, in their order
  Symmetric done;       ///< for each tile whether it is reduced
  Global Y;

  Index tiles() const { return ceilDiv(n, config.tile); }
  /// Tile i of a rank is number rank + i * ranks of all.
  Index tilesOf(const Index &owner) const { return ceilDiv(max(tiles() - owner, 0), ranks); }
  Shape shape() const { return {config.tile}; }
};

void reduceOwnTiles(Scope &k, const Operands &p) {
  auto [block] = k.grid(max(min(p.tilesOf(0), k.multiprocessors() * p.config.blocks), 1));
  k.loop({block, p.tilesOf(p.rank), k.blocks()}, [&](Index i) {
    Index tile = p.rank + i * p.ranks;
    Fragment sum = k.fragment(f32, p.shape()), x = k.fragment(p.config.dtype, p.shape());
    k.loop(p.ranks, [&](Index other) {
      copy(p.X.of(other).tile({tile * p.config.tile}, p.shape()), x);
      sum += x.to(f32);
    });
    copy(sum.to(p.config.dtype), p.reduced.of(p.rank).tile({i * p.config.tile}, p.shape()));
    k.loop(p.ranks, [&](Index other) { announce(p.done.of(other), {tile}); });
  });
}

void gatherAllTiles(Scope &k, const Operands &p) {
  auto [block] = k.grid(max(min(p.tiles(), k.multiprocessors() * p.config.blocks), 1));
  k.loop({block, p.tiles(), k.blocks()}, [&](Index tile) {
    Fragment sum = k.fragment(p.config.dtype, p.shape());
    Index owner = tile % p.ranks, i = tile / p.ranks;
    waitFor(p.done.of(p.rank), {tile}, 1);
    copy(p.reduced.of(owner).tile({i * p.config.tile}, p.shape()), sum);
    copy(sum, p.Y.tile({tile * p.config.tile}, p.shape()));
  });
}

struct MulticastOperands {
  AllReduceConfig config;
  Index rank, ranks, n;
  Symmetric X, Y;
};

void reduceAtOnce(Scope &k, const MulticastOperands &p) {
  int64_t tile = p.config.tile;
  Index tiles = ceilDiv(p.n, tile), own = ceilDiv(max(tiles - p.rank, 0), p.ranks);
  auto [block] = k.grid(max(min(ceilDiv(tiles, p.ranks), k.multiprocessors() * p.config.blocks), 1));
  k.loop({block, own, k.blocks()}, [&](Index i) {
    Index first = (p.rank + i * p.ranks) * tile;
    Fragment sum = k.fragment(p.config.dtype, {tile});
    loadSum(p.X.ofAll().tile({first}, {tile}), sum);
    copy(sum, p.Y.ofAll().tile({first}, {tile}).disjoint("a tile is one block's"));
  });
}

Program multicastProgram(const AllReduceConfig &c, const TraceOptions &options) {
  constexpr int64_t alignment = 16;
  return Program::trace("all_reduce", options, [&](Scope &k) {
    MulticastOperands p;
    p.config = c;
    p.n = k.dim("n", {.multipleOf = alignment * 8 / int64_t(bitsOf(c.dtype))});
    p.rank = k.rank(), p.ranks = k.ranks();
    p.X = k.symmetric("X", c.dtype, {p.n}, {.use = TensorUse::input, .alignment = alignment});
    p.Y = k.symmetric("Y", c.dtype, {p.n}, {.use = TensorUse::output, .alignment = alignment});
    RankEnd end(k);
    k.launch("all_reduce_multicast", [&] { reduceAtOnce(k, p); });
    k.launch("all_reduce_end", [&] { end.meet(); });
  });
}
} // namespace

Program allReduceProgram(const AllReduceConfig &c, const TraceOptions &options) {
  if (c.exchange == Exchange::multicast)
    return multicastProgram(c, options);
  return Program::trace("all_reduce", options, [&](Scope &k) {
    Operands p;
    p.config = c;
    p.n = k.dim("n"), p.rank = k.rank(), p.ranks = k.ranks();
    p.X = k.symmetric("X", c.dtype, {p.n}, {.use = TensorUse::input});
    p.Y = k.output("Y", c.dtype, {p.n});
    SymmetricOptions scratch = {.use = TensorUse::workspace},
                     counts = {.use = TensorUse::workspace, .initial = Initial::zero};
    p.reduced = k.symmetric("reduced", c.dtype, {p.tilesOf(0) * c.tile}, scratch);
    p.done = k.symmetric("done", i32, {p.tiles()}, counts);
    RankEnd end(k);
    k.launch("all_reduce_scatter", [&] { reduceOwnTiles(k, p); });
    k.launch("all_reduce_gather", [&] { gatherAllTiles(k, p); });
    k.launch("all_reduce_end", [&] { end.meet(); });
  });
}

} // namespace tlc::kernels
