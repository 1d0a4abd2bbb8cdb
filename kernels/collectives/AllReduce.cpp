// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the all-reduce: reduce-scatter and all-gather by loads of other ranks' memory.
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
} // namespace

Program allReduceProgram(const AllReduceConfig &c, const TraceOptions &options) {
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
