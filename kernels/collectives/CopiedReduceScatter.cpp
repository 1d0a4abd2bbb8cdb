// SPDX-License-Identifier: Apache-2.0
#include "kernels/collectives/CopiedReduceScatter.h"

#include "kernels/collectives/TilePipeline.h"
#include "runtime/target/Hardware.h"

#include <array>
#include <fmt/format.h>

namespace tlc::kernels {

using namespace dsl;

namespace {

constexpr std::string_view kernelName = "gemm_reduce_scatter";

struct Operands {
  explicit Operands(const RankGemmConfig &config) : c(config) {}

  const RankGemmConfig &c;
  Index m, n, depth, rank, ranks;
  std::optional<AlignedFactor> A, B;
  Global C;
  std::vector<Global> computed; ///< by each part: its tiles of all others, one rank's after the other's
  Symmetric terms;              ///< of this rank's tiles, from each other one
  Symmetric arrived;            ///< of each rank's pieces: 1 when it is here

  Index rows() const { return ceilDiv(m, c.bm); }
  Index columns() const { return ceilDiv(n, c.bn); }
  /// Of each rank.
  Index tiles() const { return rows() * columns(); }
  Index others() const { return ranks - 1; }
  /// The rank that comes after `before` others.
  Index ownerAfter(const Index &before) const { return (rank + 1 + before) % ranks; }
  /// Where its terms are, of which this rank is the owner.
  Index placeOf(const Index &from) const { return (from + ranks - rank - 1) % ranks; }

  /// Of a rank's tiles: those of a part follow each other.
  int64_t pieces() const { return c.parts * c.piecesOfPart; }
  /// Of each piece but the last, which has the rest. Those of a part are as many as multiprocessors have in
  /// whole rounds, if there are enough. A piece has at least one for each multiprocessor, 8 MB where they are
  /// 128 x 256 in bf16, so that what a copy costs by itself is little beside its bytes.
  Index tilesOfPiece() const {
    Index ofOthers = ceilDiv(others() * tiles(), c.parts * c.multiprocessors) * c.multiprocessors;
    return max(ofOthers / max(others() * c.piecesOfPart, 1), c.multiprocessors);
  }
  /// The first tile of a part; parts may have none.
  Index firstOf(int64_t part) const { return min(part * c.piecesOfPart * tilesOfPiece(), tiles()); }
  Index tilesOf(int64_t part) const {
    Index rest = tiles() - firstOf(part);
    return part + 1 == c.parts ? rest : min(rest, c.piecesOfPart * tilesOfPiece());
  }
  /// The count of a piece of rank `from`'s.
  Index countOf(const Index &from, const Index &piece) const { return from * pieces() + piece; }
  Index pieceOf(const RankTile &tile) const { return min(tile.number / tilesOfPiece(), pieces() - 1); }

  RankTile tileAt(const Index &owner, const Index &inRank, const Index &number) const {
    auto [i, j] = tileInGroups(c, rows(), columns(), inRank);
    return {owner, i, j, number};
  }
  Slice tileOfA(const RankTile &tile, const Index &step) const {
    return A->tensor().tile({tile.owner, tile.i * c.bm, step * c.bk}, {1, c.bm, c.bk});
  }
};

/// Dealt tiles, of which `store` gets the sums.
void multiply(Scope &k, const Operands &p, const Index &tiles,
              const std::function<RankTile(const Index &)> &tileAt,
              const std::function<TilePipeline::StoreTile()> &startStoring,
              const std::function<TilePipeline::EachTile()> &startLoading = {}) {
  const RankGemmConfig &c = p.c;
  auto [block] = k.grid(min(tiles, k.multiprocessors()));
  TilePipeline(
      k, c, block, {},
      {.tiles = tiles,
       .steps = ceilDiv(p.depth, c.bk),
       .tileAt = tileAt,
       .copyA = [&](const RankTile &tile, const Index &s, const Shared &to) { copy(p.tileOfA(tile, s), to); },
       .tileOfB = [&](const RankTile &tile,
                      const Index &s) { return p.B->tensor().tile({tile.j * c.bn, s * c.bk}, {c.bn, c.bk}); },
       .startLoading = startLoading,
       .startStoring = startStoring});
}

/// A part of the tiles of all other ranks.
void computeTerms(Scope &k, const Operands &p, int64_t part) {
  const RankGemmConfig &c = p.c;
  Index ofOwner = p.tilesOf(part), first = p.firstOf(part);
  multiply(
      k, p, p.others() * ofOwner,
      [&](const Index &number) {
        Index each = max(ofOwner, 1);
        return p.tileAt(p.ownerAfter(number / each), first + number % each, number);
      },
      [&]() -> TilePipeline::StoreTile {
        return [&, part](Fragment &sums, const RankTile &tile) {
          copy(sums.to(c.out), p.computed[size_t(part)]
                                   .tile({tile.number, 0, 0}, {1, c.bm, c.bn})
                                   .disjoint("a block has a tile once"));
        };
      });
}

/// One piece after the other, each to all other ranks.
void moveTerms(Scope &k, const Operands &p, int64_t part) {
  const RankGemmConfig &c = p.c;
  Index ofOwner = p.tilesOf(part), first = p.firstOf(part), ofPiece = p.tilesOfPiece(),
        others = max(p.others(), 1);
  k.transfer(fmt::format("{}_move{}", kernelName, part),
             p.others() * min(ceilDiv(ofOwner, ofPiece), c.piecesOfPart),
             [&](const Transfer &t, Index round) {
               Index before = round % others, piece = round / others, inPart = piece * ofPiece;
               Index owner = p.ownerAfter(before), rest = ofOwner - inPart,
                     isLast = (piece + 1) / c.piecesOfPart; // 1 or 0
               t.copy({p.computed[size_t(part)], {before * ofOwner + inPart, 0, 0}},
                      {p.terms.of(owner), {others - 1 - before, first + inPart, 0, 0}},
                      {min(rest, ofPiece + isLast * ofOwner), c.bm, c.bn});
               t.set(p.arrived.of(owner), {p.countOf(p.rank, part * c.piecesOfPart + piece)});
             });
}

/// The others' terms of a tile come to shared memory under its products, one rank's after the other's, and
/// the tile of C leaves from there.
class Terms {
public:
  /// Outside of roles.
  Terms(Scope &k, const Operands &p)
      : k(k), p(p), tile(k.shared("term", p.c.out, {p.c.bm, p.c.bn}, {.slots = 1})),
        loaded(k.channel("term", {.slots = 1})) {}

  TilePipeline::EachTile startLoading() {
    return [this](const RankTile &tile) { load(tile); };
  }
  TilePipeline::StoreTile startAdding() {
    return [this](Fragment &sums, const RankTile &tile) { addAndStore(sums, tile); };
  }

private:
  void load(const RankTile &of);
  void addAndStore(Fragment &sums, const RankTile &of);

  Scope &k;
  const Operands &p;
  Shared tile;
  Channel loaded;
};

void Terms::load(const RankTile &of) {
  k.loop(p.others(), [&](Index n) {
    Index from = n + where(n < p.rank, Index(0), Index(1));
    waitFor(p.arrived.of(p.rank), {p.countOf(from, p.pieceOf(of))}, 1);
    loaded.put([&](const Slot &at) {
      copy(p.terms.of(p.rank).tile({p.placeOf(from), of.number, 0, 0}, {1, 1, p.c.bm, p.c.bn}),
           tile.slot(at));
    });
  });
  k.when(p.others() == 0, [&] { loaded.put(); });
}

void Terms::addAndStore(Fragment &sums, const RankTile &of) {
  Index terms = max(p.others(), 1);
  k.loop(terms, [&](Index n) {
    Slot at = loaded.get();
    k.when(p.others() > 0, [&] {
      Fragment term = k.fragment(p.c.out, {p.c.bm, p.c.bn});
      copy(tile.slot(at), term);
      sums += term.to(f32);
    });
    k.when(n == terms - 1, [&] {
      copy(sums.to(p.c.out), tile.slot(at));
      copy(tile.slot(at),
           p.C.tile({of.i * p.c.bm, of.j * p.c.bn}, {p.c.bm, p.c.bn}).disjoint("a block has a tile once"));
    });
    loaded.release();
  });
}

/// This rank's tiles, with the others' terms.
void sumTiles(Scope &k, const Operands &p) {
  Terms terms(k, p);
  multiply(
      k, p, p.tiles(), [&](const Index &number) { return p.tileAt(p.rank, number, number); },
      [&] { return terms.startAdding(); }, [&] { return terms.startLoading(); });
}

} // namespace

BlockBudget copiedReduceScatterBudget(const RankGemmConfig &c, const Target &target) {
  BlockBudget terms = dealtGemmBudget(c, target), sums(target);
  sums.addBuffer(SharedBytes::tile(c.bm, c.bn * int64_t(sizeInBytes(c.out))));
  sums.addRing(1);
  return sums.sharedUsed() > terms.sharedUsed() ? sums : terms;
}

Program copiedReduceScatterProgram(const RankGemmConfig &c, const TraceOptions &options) {
  return Program::trace(kernelName, options, [&](Scope &k) {
    Operands p(c);
    p.m = k.dim("m"), p.n = k.dim("n", {.multipleOf = c.multipleOfColumns}), p.depth = k.dim("k"),
    p.rank = k.rank(), p.ranks = k.ranks();
    p.A.emplace(k, "A", c.dtype, std::vector<Index>{p.ranks, p.m, p.depth}, c.copiesRows);
    p.B.emplace(k, "B", c.dtype, std::vector<Index>{p.n, p.depth}, c.copiesRows);
    p.C = k.output("C", c.out, {p.m, p.n});
    constexpr auto unit = int64_t(TmaFacts().globalAlignment);
    for (int64_t part = 0; part < c.parts; ++part)
      p.computed.push_back(k.workspace(fmt::format("computed{}", part), c.out,
                                       {p.others() * p.tilesOf(part), c.bm, c.bn}, {.alignment = unit}));
    p.terms = k.symmetric("terms", c.out, {p.others(), p.tiles(), c.bm, c.bn},
                          {.use = TensorUse::workspace, .alignment = unit});
    p.arrived = k.symmetric("arrived", i32, {p.ranks * p.pieces()},
                            {.use = TensorUse::workspace, .initial = Initial::zero});
    copyFactors(k, c, kernelName, std::array<const AlignedFactor *, 2>{&*p.A, &*p.B});
    for (int64_t part = 0; part < c.parts; ++part) {
      k.launch(fmt::format("{}_terms{}", kernelName, part), [&] { computeTerms(k, p, part); });
      moveTerms(k, p, part);
    }
    k.launch(kernelName, [&] { sumTiles(k, p); });
  });
}

} // namespace tlc::kernels
