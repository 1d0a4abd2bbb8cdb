// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the all-gather of A with its product.
#include "kernels/collectives/TilePipeline.h"

#include <array>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// What a block fetches at once: 128 bytes for each thread of the role.
constexpr int64_t pieceRows = 32, pieceColumns = 128;

struct Operands {
  explicit Operands(const RankGemmConfig &config) : c(config) {}

  const RankGemmConfig &c;
  Index m, n, depth, rank, ranks;
  Symmetric A; ///< of each rank
  std::optional<AlignedFactor> B;
  Global C;           ///< C with an axis for the ranks
  Global gathered;    ///< A of all other ranks
  Symmetric finished; ///< ranks
  Global taken;       ///< tiles that blocks of this rank compute
  Global dealt;       ///< pieces that they fetch
  Global arrived;     ///< of each rank's rows of tiles: pieces

  Index rows() const { return ceilDiv(m, c.bm); }
  Index columns() const { return ceilDiv(n, c.bn); }
  Index tiles() const { return ranks * rows() * columns(); }
  Index piecesAcross() const { return ceilDiv(depth, pieceColumns); }
  /// Of the rows of a tile.
  Index pieces() const { return piecesAcross() * (c.bm / pieceRows); }
  /// Ranks whose rows are not fetched.
  int64_t ownRanks() const { return c.copiesRows ? 0 : 1; }
  Index piecesOfRank() const { return rows() * pieces(); }
  Index fetchedPieces() const { return (ranks - ownRanks()) * piecesOfRank(); }
  /// Whether a rank's rows are read from where they are.
  Predicate areInPlace(const Index &owner) const { return c.copiesRows ? Predicate(false) : owner == rank; }
  /// The rank whose rows come next after those of `before` others.
  Index ownerAfter(const Index &before) const { return (rank + before) % ranks; }
};

void fetch(Scope &k, const Operands &p) {
  const RankGemmConfig &c = p.c;
  Index ofRank = p.piecesOfRank(), all = p.fetchedPieces();
  k.loopWhile(all + 1, [&](Index) -> Predicate {
    Index number = take(p.dealt, {0});
    Predicate isPiece = number < all;
    k.when(isPiece, [&] {
      Index owner = p.ownerAfter(p.ownRanks() + number / ofRank), i = number % ofRank / p.pieces(),
            piece = number % p.pieces();
      Index row = i * c.bm + piece / p.piecesAcross() * pieceRows,
            column = piece % p.piecesAcross() * pieceColumns;
      // The limit excludes nothing. It keeps the TMA away, whose staging would take a step's shared memory.
      copy(p.A.of(owner).tile({row, column}, {pieceRows, pieceColumns}),
           p.gathered.tile({owner, row, column}, {1, pieceRows, pieceColumns}).limited(1, p.m));
      announce(p.arrived, {owner * p.rows() + i});
    });
    return isPiece;
  });
}

void multiply(Scope &k, const Operands &p) {
  const RankGemmConfig &c = p.c;
  // Blocks that find no tile fetch all the same.
  [[maybe_unused]] auto [block] = k.grid(max(min(max(p.tiles(), p.fetchedPieces()), k.multiprocessors()), 1));
  Index ofRank = p.rows() * p.columns();
  TilePipeline(
      k, c, p.taken,
      {.tiles = p.tiles(),
       .steps = ceilDiv(p.depth, c.bk),
       .tileAt = [&](const Index &number) -> RankTile {
         auto [i, j] = tileInGroups(c, p.rows(), p.columns(), number % ofRank);
         return {p.ownerAfter(number / ofRank), i, j};
       },
       .prepare =
           [&](const RankTile &tile) {
             k.when(!p.areInPlace(tile.owner),
                    [&] { waitFor(p.arrived, {tile.owner * p.rows() + tile.i}, p.pieces()); });
           },
       .copyA =
           [&](const RankTile &tile, const Index &s, const Shared &to, const FullBarrier &full) {
             k.when(
                 p.areInPlace(tile.owner),
                 [&] { copy(p.A.of(p.rank).tile({tile.i * c.bm, s * c.bk}, {c.bm, c.bk}), to, full); },
                 [&] {
                   copy(p.gathered.tile({tile.owner, tile.i * c.bm, s * c.bk}, {1, c.bm, c.bk}), to, full);
                 });
           },
       .tileOfB = [&](const RankTile &tile,
                      const Index &s) { return p.B->tensor().tile({tile.j * c.bn, s * c.bk}, {c.bn, c.bk}); },
       .store =
           [&](Fragment &sums, const RankTile &tile) {
             copy(sums.to(c.out), p.C.tile({tile.owner, tile.i * c.bm, tile.j * c.bn}, {1, c.bm, c.bn})
                                      .disjoint("a block has a tile once"));
           },
       .fetch = [&] { fetch(k, p); }});
}

} // namespace

Program allGatherGemmProgram(const RankGemmConfig &c, const TraceOptions &options) {
  return Program::trace("all_gather_gemm", options, [&](Scope &k) {
    Operands p(c);
    p.m = k.dim("m"), p.n = k.dim("n"), p.depth = k.dim("k"), p.rank = k.rank(), p.ranks = k.ranks();
    p.A = k.symmetric("A", c.dtype, {p.m, p.depth},
                      {.use = TensorUse::input, .alignment = c.copiesRows ? 1 : 16});
    p.B.emplace(k, "B", c.dtype, std::vector<Index>{p.n, p.depth}, c.copiesRows);
    p.C = k.output("C", c.out, {p.ranks, p.m, p.n});
    p.gathered = k.workspace("gathered", c.dtype, {p.ranks, p.m, p.depth}, {.alignment = 16});
    SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
    p.finished = k.symmetric("finished", i32, {1}, counts);
    p.taken = k.workspace("taken", i32, {1}, {Initial::zero});
    p.dealt = k.workspace("dealt", i32, {1}, {Initial::zero});
    p.arrived = k.workspace("arrived", i32, {p.ranks * p.rows()}, {Initial::zero});
    copyFactors(k, c, "all_gather_gemm", std::array<const AlignedFactor *, 1>{&*p.B});
    k.launch("all_gather_gemm", [&] { multiply(k, p); });
    k.launch("all_gather_gemm_end", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      k.loop(p.ranks, [&](Index other) { announce(p.finished.of(other), {0}); });
      waitFor(p.finished.of(p.rank), {0}, p.ranks);
    });
  });
}

} // namespace tlc::kernels
