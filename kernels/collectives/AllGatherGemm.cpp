// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the all-gather of A with its product.
#include "kernels/collectives/TilePipeline.h"
#include "kernels/gemm/Gemm.h"
#include "kernels/ranks/RankEnd.h"
#include "runtime/target/Hardware.h"

#include <array>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// What a block fetches at once, and how many of these are on their way.
constexpr int64_t pieceRows = 32, pieceColumns = 128, pieceSlots = 4;
/// Parts in which a transfer copies a rank's rows, at most, and the bytes of a part, at least.
constexpr int64_t mostParts = 4, leastPartBytes = 8 << 20;

/// Of a rank's A, from there on.
struct Piece {
  Index owner, row, column;
};

struct Operands {
  explicit Operands(const RankGemmConfig &config) : c(config) {}

  const RankGemmConfig &c;
  Index m, n, depth, rank, ranks;
  Symmetric A; ///< of each rank
  std::optional<AlignedFactor> B;
  Global C;                    ///< C with an axis for the ranks
  Global gathered;             ///< roles: A of all other ranks
  Symmetric received;          ///< copy engines: the same, of each rank
  std::optional<Global> taken; ///< roles: tiles that blocks of this rank compute
  Global dealt;                ///< pieces that they fetch
  Global arrived;              ///< of each rank's rows of tiles: pieces
  Symmetric copied;            ///< of each rank's parts: 1 when it is here

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
  /// A transfer copies the rows of so many tiles at a time: parts are small, so that the first tiles do not
  /// wait for long, but what a copy costs by itself is little beside them.
  Index tilesOfPart() const {
    int64_t leastColumns = leastPartBytes / (c.bm * int64_t(sizeInBytes(c.dtype))); // of a tile's rows
    return max(max(ceilDiv(rows(), mostParts), ceilDiv(leastColumns, max(depth, 1))), 1);
  }
  Index partsOfRank() const { return ceilDiv(rows(), tilesOfPart()); }
  /// A of other ranks, on this one.
  Global fetched() const { return c.carrier == Carrier::roles ? gathered : received.of(rank); }
  /// Whether a rank's rows are read from where they are.
  Predicate areInPlace(const Index &owner) const { return c.copiesRows ? Predicate(false) : owner == rank; }
  /// The rank whose rows come next after those of `before` others.
  Index ownerAfter(const Index &before) const { return (rank + before) % ranks; }

  Piece pieceAt(const Index &number) const {
    Index inRank = number % piecesOfRank(), inRows = inRank % pieces();
    return {ownerAfter(ownRanks() + number / piecesOfRank()),
            inRank / pieces() * c.bm + inRows / piecesAcross() * pieceRows,
            inRows % piecesAcross() * pieceColumns};
  }
};

/// Two roles of a block: one loads pieces of other ranks' rows, the other stores them to the workspace.
class Fetch {
public:
  /// Outside of roles.
  Fetch(Scope &k, const Operands &p)
      : p(p), pieces(k.shared("piece", p.c.dtype, {pieceRows, pieceColumns}, {.slots = pieceSlots})),
        fetched(k.channel("piece", {.slots = pieceSlots})), numbers(k, pieceSlots), count(p.fetchedPieces()) {
  }

  void load() const;
  void store() const;

private:
  const Operands &p;
  Shared pieces;
  Channel fetched;
  TakenTiles numbers;
  Index count;
};

void Fetch::load() const {
  auto next = [&](const Shared &number, const Index &) { number.write({0}, take(p.dealt, {0})); };
  numbers.take(count + 1, count, next, [&](const Index &number) {
    auto [owner, row, column] = p.pieceAt(number);
    Slice piece = p.A.of(owner).tile({row, column}, {pieceRows, pieceColumns});
    fetched.put([&](const Slot &at) { copy(piece, pieces.slot(at)); });
  });
}

void Fetch::store() const {
  numbers.follow(count + 1, count, [&](const Index &number) {
    auto [owner, row, column] = p.pieceAt(number);
    copy(pieces.slot(fetched.get()), p.gathered.tile({owner, row, column}, {1, pieceRows, pieceColumns}));
    announce(p.arrived, {owner * p.rows() + row / p.c.bm});
    fetched.release();
  });
}

/// Copies this rank's rows to the others by its copy engines, in the order in which they need them. To write
/// to another GPU is faster than to read from it. Without columns nobody would wait for the rows.
void copyRows(Scope &k, const Operands &p) {
  Index parts = p.partsOfRank(), rowsOfPart = p.tilesOfPart() * p.c.bm;
  k.transfer("all_gather_gemm_rows", (p.ranks - p.ownRanks()) * parts * min(p.columns(), 1),
             [&](const Transfer &t, Index round) {
               Index before = p.ownRanks() + round / max(parts, 1), part = round % max(parts, 1);
               Index to = (p.rank + p.ranks - before) % p.ranks, first = part * rowsOfPart;
               t.copy({p.A.of(p.rank), {first, 0}}, {p.received.of(to), {p.rank, first, 0}},
                      {min(rowsOfPart, p.m - first), p.depth});
               t.set(p.copied.of(to), {p.rank * parts + part});
             });
}

void multiply(Scope &k, const Operands &p) {
  const RankGemmConfig &c = p.c;
  bool hasRoles = c.carrier == Carrier::roles;
  // Blocks that find no tile fetch all the same.
  Index work = hasRoles ? max(p.tiles(), p.fetchedPieces()) : p.tiles();
  auto [block] = k.grid(max(min(work, k.multiprocessors()), 1));
  Index ofRank = p.rows() * p.columns();
  std::optional<Fetch> fetch;
  std::vector<TilePipeline::Role> others;
  if (hasRoles) {
    fetch.emplace(k, p);
    others = {{"fetch", 1, [&] { fetch->load(); }}, {"keep", 1, [&] { fetch->store(); }}};
  }
  TilePipeline(
      k, c, block, p.taken,
      {.tiles = p.tiles(),
       .steps = ceilDiv(p.depth, c.bk),
       .tileAt = [&](const Index &number) -> RankTile {
         auto [i, j] = tileInGroups(c, p.rows(), p.columns(), number % ofRank);
         return {p.ownerAfter(number / ofRank), i, j};
       },
       .prepare =
           [&](const RankTile &tile) {
             k.when(!p.areInPlace(tile.owner), [&] {
               if (hasRoles)
                 waitFor(p.arrived, {tile.owner * p.rows() + tile.i}, p.pieces());
               else
                 waitFor(p.copied.of(p.rank), {tile.owner * p.partsOfRank() + tile.i / p.tilesOfPart()}, 1);
             });
           },
       .copyA =
           [&](const RankTile &tile, const Index &s, const Shared &to) {
             k.when(
                 p.areInPlace(tile.owner),
                 [&] { copy(p.A.of(p.rank).tile({tile.i * c.bm, s * c.bk}, {c.bm, c.bk}), to); },
                 [&] { copy(p.fetched().tile({tile.owner, tile.i * c.bm, s * c.bk}, {1, c.bm, c.bk}), to); });
           },
       .tileOfB = [&](const RankTile &tile,
                      const Index &s) { return p.B->tensor().tile({tile.j * c.bn, s * c.bk}, {c.bn, c.bk}); },
       .startStoring = [&]() -> TilePipeline::StoreTile {
         return [&](Fragment &sums, const RankTile &tile) {
           copy(sums.to(c.out), p.C.tile({tile.owner, tile.i * c.bm, tile.j * c.bn}, {1, c.bm, c.bn})
                                    .disjoint("a block has a tile once"));
         };
       },
       .others = others});
}

} // namespace

BlockBudget allGatherGemmBudget(const RankGemmConfig &c, const Target &target) {
  if (c.carrier == Carrier::copyEngine)
    return dealtGemmBudget(c, target);
  BlockBudget block = rankGemmBudget(target);
  block.addBuffer({stagingPerWarpgroup}, warpgroupsOf(c));
  block.addBuffer(SharedBytes::tile(pieceRows, pieceColumns * int64_t(sizeInBytes(c.dtype))), pieceSlots);
  block.addRing(pieceSlots);
  addTakenTiles(block, pieceSlots);
  return block;
}

Program allGatherGemmProgram(const RankGemmConfig &c, const TraceOptions &options) {
  return Program::trace("all_gather_gemm", options, [&](Scope &k) {
    Operands p(c);
    p.m = k.dim("m"), p.n = k.dim("n"), p.rank = k.rank(), p.ranks = k.ranks();
    // Rows of A that the TMA loads are whole units, or copied by threads.
    constexpr auto unit = int64_t(TmaFacts().globalAlignment);
    p.depth = k.dim("k", {.multipleOf = c.copiesRows ? 1 : unit / int64_t(sizeInBytes(c.dtype))});
    p.A = k.symmetric("A", c.dtype, {p.m, p.depth},
                      {.use = TensorUse::input, .alignment = c.copiesRows ? 1 : unit});
    p.B.emplace(k, "B", c.dtype, std::vector<Index>{p.n, p.depth}, c.copiesRows);
    p.C = k.output("C", c.out, {p.ranks, p.m, p.n});
    const std::vector<Index> ofAll = {p.ranks, p.m, p.depth};
    if (c.carrier == Carrier::copyEngine) {
      p.received = k.symmetric("gathered", c.dtype, ofAll, {.use = TensorUse::workspace, .alignment = unit});
      p.copied = k.symmetric("copied", i32, {p.ranks * p.partsOfRank()},
                             {.use = TensorUse::workspace, .initial = Initial::zero});
      copyFactors(k, c, "all_gather_gemm", std::array<const AlignedFactor *, 1>{&*p.B});
      copyRows(k, p);
      k.launch("all_gather_gemm", [&] { multiply(k, p); });
      return;
    }
    p.gathered = k.workspace("gathered", c.dtype, ofAll, {.alignment = unit});
    RankEnd end(k);
    p.taken = k.workspace("taken", i32, {1}, {Initial::zero});
    p.dealt = k.workspace("dealt", i32, {1}, {Initial::zero});
    p.arrived = k.workspace("arrived", i32, {p.ranks * p.rows()}, {Initial::zero});
    copyFactors(k, c, "all_gather_gemm", std::array<const AlignedFactor *, 1>{&*p.B});
    k.launch("all_gather_gemm", [&] { multiply(k, p); });
    k.launch("all_gather_gemm_end", [&] { end.meet(); });
  });
}

} // namespace tlc::kernels
