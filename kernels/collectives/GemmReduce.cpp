// SPDX-License-Identifier: Apache-2.0
/// \file
/// The programs of the product with a reduce-scatter, and with an all-reduce.
#include "kernels/collectives/TilePipeline.h"

#include <array>
#include <fmt/format.h>
#include <string_view>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Which rank sums a tile, and who gets it.
enum class Reduction : uint8_t {
  scatter, ///< rows of C belong to ranks, and so do their sums
  all,     ///< tiles are dealt to ranks in turn; all ranks get the sums
};

struct Operands {
  Operands(const RankGemmConfig &config, Reduction reduction) : c(config), reduction(reduction) {}

  const RankGemmConfig &c;
  Reduction reduction;
  Index m, n, depth, rank, ranks;
  std::optional<AlignedFactor> A, B;
  Global ownC;       ///< scatter
  Symmetric C;       ///< all
  Symmetric terms;   ///< of this rank's tiles, from each rank
  Symmetric arrived; ///< of each of this rank's tiles: terms
  Symmetric done;    ///< all: tiles of C that have come
  Global taken;

  bool isScatter() const { return reduction == Reduction::scatter; }
  Index rows() const { return ceilDiv(m, c.bm); }
  Index columns() const { return ceilDiv(n, c.bn); }
  /// Of a rank, at most.
  Index tilesOfRank() const { return isScatter() ? rows() * columns() : ceilDiv(rows() * columns(), ranks); }

  /// The others' tiles come before this rank's.
  Index ownerOf(const Index &number) const { return (rank + 1 + number / tilesOfRank()) % ranks; }
  /// Among the tiles of C, or of the owner's part of it.
  Index placeOf(const Index &number) const {
    Index inRank = number % tilesOfRank();
    return isScatter() ? inRank : ownerOf(number) + inRank * ranks;
  }
  /// Where tiles are dealt in turn, some ranks have one less.
  Predicate isTile(const Index &number) const { return placeOf(number) < rows() * columns(); }
  RankTile tileAt(const Index &number) const {
    auto [i, j] = tileInGroups(c, rows(), columns(), placeOf(number));
    return {ownerOf(number), i, j};
  }
  Index countOf(const RankTile &tile) const { return tile.i * columns() + tile.j; }
  Slice tileOfA(const RankTile &tile, const Index &step) const {
    return isScatter() ? A->tensor().tile({tile.owner, tile.i * c.bm, step * c.bk}, {1, c.bm, c.bk})
                       : A->tensor().tile({tile.i * c.bm, step * c.bk}, {c.bm, c.bk});
  }
  Slice termOf(const RankTile &tile, const Index &from) const {
    return terms.of(tile.owner).tile({from, tile.i * c.bm, tile.j * c.bn}, {1, c.bm, c.bn});
  }
  Slice tileOf(const Global &tensor, const RankTile &tile) const {
    return tensor.tile({tile.i * c.bm, tile.j * c.bn}, {c.bm, c.bn}).disjoint("a block has a tile once");
  }
};

/// Adds the others' terms to this rank's.
void addTerms(Scope &k, const Operands &p, Fragment &sums, const RankTile &tile) {
  waitFor(p.arrived.of(p.rank), {p.countOf(tile)}, p.ranks - 1);
  Fragment term = k.fragment(p.c.out, {p.c.bm, p.c.bn});
  k.loop(p.ranks, [&](Index other) {
    k.when(other != p.rank, [&] {
      copy(p.termOf(tile, other), term);
      sums += term.to(f32);
    });
  });
}

void store(Scope &k, const Operands &p, Fragment &sums, const RankTile &tile) {
  k.when(
      tile.owner != p.rank,
      [&] {
        copy(sums.to(p.c.out), p.termOf(tile, p.rank));
        announce(p.arrived.of(tile.owner), {p.countOf(tile)});
      },
      [&] {
        addTerms(k, p, sums, tile);
        if (p.isScatter()) {
          copy(sums.to(p.c.out), p.tileOf(p.ownC, tile));
          return;
        }
        // An announcement waits for all stores before it.
        k.loop(p.ranks, [&](Index other) { copy(sums.to(p.c.out), p.tileOf(p.C.of(other), tile)); });
        k.loop(p.ranks, [&](Index other) { announce(p.done.of(other), {0}); });
      });
}

void multiply(Scope &k, const Operands &p) {
  const RankGemmConfig &c = p.c;
  Index tiles = p.ranks * p.tilesOfRank();
  [[maybe_unused]] auto [block] = k.grid(max(min(tiles, k.multiprocessors()), 1));
  TilePipeline(
      k, c, p.taken,
      {.tiles = tiles,
       .steps = ceilDiv(p.depth, c.bk),
       .tileAt = [&](const Index &number) { return p.tileAt(number); },
       .isTile = [&](const Index &number) { return p.isTile(number); },
       .copyA = [&](const RankTile &tile, const Index &s, const Shared &to,
                    const FullBarrier &full) { copy(p.tileOfA(tile, s), to, full); },
       .tileOfB = [&](const RankTile &tile,
                      const Index &s) { return p.B->tensor().tile({tile.j * c.bn, s * c.bk}, {c.bn, c.bk}); },
       .store = [&](Fragment &sums, const RankTile &tile) { store(k, p, sums, tile); }});
}

Program trace(std::string_view name, Reduction reduction, const RankGemmConfig &c,
              const TraceOptions &options) {
  return Program::trace(name, options, [&](Scope &k) {
    Operands p(c, reduction);
    p.m = k.dim("m"), p.n = k.dim("n"), p.depth = k.dim("k"), p.rank = k.rank(), p.ranks = k.ranks();
    std::vector<Index> ofA = {p.m, p.depth};
    if (p.isScatter())
      ofA.insert(ofA.begin(), p.ranks);
    p.A.emplace(k, "A", c.dtype, ofA, c.copiesRows);
    p.B.emplace(k, "B", c.dtype, std::vector<Index>{p.n, p.depth}, c.copiesRows);
    if (p.isScatter())
      p.ownC = k.output("C", c.out, {p.m, p.n});
    else
      p.C = k.symmetric("C", c.out, {p.m, p.n}, {.use = TensorUse::output});
    SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
    p.terms =
        k.symmetric("terms", c.out, {p.ranks, p.m, p.n}, {.use = TensorUse::workspace, .alignment = 16});
    p.arrived = k.symmetric("arrived", i32, {p.rows() * p.columns()}, counts);
    if (!p.isScatter())
      p.done = k.symmetric("done", i32, {1}, counts);
    p.taken = k.workspace("taken", i32, {1}, {Initial::zero});
    copyFactors(k, c, name, std::array<const AlignedFactor *, 2>{&*p.A, &*p.B});
    k.launch(name, [&] { multiply(k, p); });
    if (!p.isScatter())
      k.launch(fmt::format("{}_end", name), [&] {
        [[maybe_unused]] auto [block] = k.grid(1);
        waitFor(p.done.of(p.rank), {0}, p.rows() * p.columns());
      });
  });
}

} // namespace

Program gemmReduceScatterProgram(const RankGemmConfig &config, const TraceOptions &options) {
  return trace("gemm_reduce_scatter", Reduction::scatter, config, options);
}

Program gemmAllReduceProgram(const RankGemmConfig &config, const TraceOptions &options) {
  return trace("gemm_all_reduce", Reduction::all, config, options);
}

} // namespace tlc::kernels
