// SPDX-License-Identifier: Apache-2.0
/// \file
/// The programs of the product with a reduce-scatter, and with an all-reduce.
#include "kernels/collectives/CopiedReduceScatter.h"
#include "kernels/collectives/TilePipeline.h"
#include "runtime/target/Hardware.h"

#include <array>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Rows of a tile that are summed at once, for which two warps have registers, and how many such pieces of
/// terms are on their way.
constexpr int64_t rowsAtOnce = 8, termSlots = 3;
/// Rounds of tiles after which the terms of a tile have come.
constexpr int64_t delayRounds = 3;

/// Which rank sums a tile, and who gets it.
enum class Reduction : uint8_t {
  scatter, ///< rows of C belong to ranks, and so do their sums
  all,     ///< tiles are dealt to ranks in turn; all ranks get the sums
};

struct Operands {
  Operands(const RankGemmConfig &config, Reduction reduction) : c(config), reduction(reduction) {}

  const RankGemmConfig &c;
  Reduction reduction;
  Index m, n, depth, rank, ranks, blocks;
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

  /// A tile of which rank, and which of that rank's.
  struct Dealt {
    Index owner, inRank;
  };
  /// Those of others are dealt in turn, and this rank's among them, `delay` tiles later, when others have
  /// sent their terms: transfers take as long as products then. What a tile waits for has a lower number on
  /// every rank.
  Dealt dealt(const Index &number) const {
    Index others = ranks - 1, own = tilesOfRank(), delay = min(own, ceilDiv(delayRounds * blocks, ranks));
    Index before = others * delay, after = number - before, group = after / ranks, inGroup = after % ranks;
    Index ofOther = where(number < before, number, before + group * others + inGroup);
    Predicate isLast = number >= ranks * own - delay; // this rank's, after all of the others'
    Predicate isOwn = (number >= before && inGroup == others) || isLast;
    Index turn = max(others, 1);
    return {where(isOwn, rank, (rank + 1 + ofOther % turn) % ranks),
            where(isOwn, where(isLast, number - others * own, group), ofOther / turn)};
  }
  /// Among the tiles of C, or of the owner's part of it.
  Index placeOf(const Dealt &tile) const {
    return isScatter() ? tile.inRank : tile.owner + tile.inRank * ranks;
  }
  /// Where tiles are dealt in turn, some ranks have one less.
  Predicate isTile(const Index &number) const { return placeOf(dealt(number)) < rows() * columns(); }
  RankTile tileAt(const Index &number) const {
    Dealt tile = dealt(number);
    auto [i, j] = tileInGroups(c, rows(), columns(), placeOf(tile));
    return {tile.owner, i, j};
  }
  Index countOf(const RankTile &tile) const { return tile.i * columns() + tile.j; }
  Slice tileOfA(const RankTile &tile, const Index &step) const {
    return isScatter() ? A->tensor().tile({tile.owner, tile.i * c.bm, step * c.bk}, {1, c.bm, c.bk})
                       : A->tensor().tile({tile.i * c.bm, step * c.bk}, {c.bm, c.bk});
  }
  Slice termOf(const RankTile &tile, const Index &from) const { return rowsOfTerm(tile, from, 0, c.bm); }
  Slice rowsOfTerm(const RankTile &tile, const Index &from, const Index &first, int64_t count) const {
    return terms.of(tile.owner).tile({from, tile.i * c.bm + first, tile.j * c.bn}, {1, count, c.bn});
  }
  Slice tileOf(const Global &tensor, const RankTile &tile) const {
    return tensor.tile({tile.i * c.bm, tile.j * c.bn}, {c.bm, c.bn}).disjoint("a block has a tile once");
  }
};

/// What the role that sends tiles does with them.
class Send {
public:
  /// Outside of roles.
  Send(Scope &k, const Operands &p)
      : k(k), p(p), pieces(k.shared("term", p.c.out, {rowsAtOnce, p.c.bn}, {.slots = termSlots})),
        loaded(k.channel("term", {.slots = termSlots})) {}

  /// By the role, before the first tile.
  TilePipeline::SendTile start() {
    return [this](const Shared &sums, const RankTile &tile) { send(sums, tile); };
  }

private:
  void send(const Shared &sums, const RankTile &tile);
  /// Adds the others' terms to this rank's, of a few rows at once.
  void addTerms(const Shared &sums, const RankTile &tile);
  /// Starts the load of the n-th piece: the first rows of all others, then the next ones.
  void load(const RankTile &tile, const Index &n);

  Scope &k;
  const Operands &p;
  Shared pieces;
  Channel loaded;
};

void Send::send(const Shared &sums, const RankTile &tile) {
  k.when(
      tile.owner != p.rank,
      [&] {
        copy(sums, p.termOf(tile, p.rank));
        announce(p.arrived.of(tile.owner), {p.countOf(tile)});
      },
      [&] {
        addTerms(sums, tile);
        if (p.isScatter()) {
          copy(sums, p.tileOf(p.ownC, tile));
          return;
        }
        // Counts are announced after the stores to all ranks.
        k.loop(p.ranks, [&](Index other) { copy(sums, p.tileOf(p.C.of(other), tile)); });
        k.loop(p.ranks, [&](Index other) { announce(p.done.of(other), {0}); });
      });
}

void Send::addTerms(const Shared &sums, const RankTile &tile) {
  Index others = p.ranks - 1;
  waitFor(p.arrived.of(p.rank), {p.countOf(tile)}, others);
  k.loop(min(others * (p.c.bm / rowsAtOnce), termSlots), [&](Index n) { load(tile, n); });
  for (int64_t part = 0; part < p.c.bm / rowsAtOnce; ++part) {
    Shared rows = sums.rows(part * rowsAtOnce, rowsAtOnce);
    Fragment term = k.fragment(p.c.out, {rowsAtOnce, p.c.bn}), sum = k.fragment(f32, {rowsAtOnce, p.c.bn});
    copy(rows, term);
    sum = term.to(f32);
    k.loop(others, [&](Index n) {
      copy(pieces.slot(loaded.get()), term);
      loaded.release();
      Index next = part * others + n + termSlots;
      k.when(next < others * (p.c.bm / rowsAtOnce), [&] { load(tile, next); });
      sum += term.to(f32);
    });
    copy(sum.to(p.c.out), rows);
  }
}

void Send::load(const RankTile &tile, const Index &n) {
  Index others = max(p.ranks - 1, 1), which = n % others;
  Index other = which + where(which < p.rank, Index(0), Index(1));
  loaded.put([&](const Slot &at) {
    copy(p.rowsOfTerm(tile, other, n / others * rowsAtOnce, rowsAtOnce), pieces.slot(at));
  });
}

void multiply(Scope &k, Operands &p) {
  const RankGemmConfig &c = p.c;
  Index tiles = p.ranks * p.tilesOfRank();
  auto [block] = k.grid(max(min(tiles, k.multiprocessors()), 1));
  p.blocks = k.blocks();
  Send sender(k, p);
  TilePipeline(
      k, c, block, p.taken,
      {.tiles = tiles,
       .steps = ceilDiv(p.depth, c.bk),
       .tileAt = [&](const Index &number) { return p.tileAt(number); },
       .isTile = [&](const Index &number) { return p.isTile(number); },
       .copyA = [&](const RankTile &tile, const Index &s, const Shared &to) { copy(p.tileOfA(tile, s), to); },
       .tileOfB = [&](const RankTile &tile,
                      const Index &s) { return p.B->tensor().tile({tile.j * c.bn, s * c.bk}, {c.bn, c.bk}); },
       .startSending = [&] { return sender.start(); }});
}

Program trace(std::string_view name, Reduction reduction, const RankGemmConfig &c,
              const TraceOptions &options) {
  return Program::trace(name, options, [&](Scope &k) {
    Operands p(c, reduction);
    p.m = k.dim("m"), p.n = k.dim("n", {.multipleOf = c.multipleOfColumns}), p.depth = k.dim("k"),
    p.rank = k.rank(), p.ranks = k.ranks();
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
    constexpr auto unit = int64_t(TmaFacts().globalAlignment);
    int64_t inUnit = unit / int64_t(sizeInBytes(c.out)); // with whole units the TMA copies them for every n
    p.terms = k.symmetric("terms", c.out, {p.ranks, p.m, ceilDiv(p.n, inUnit) * inUnit},
                          {.use = TensorUse::workspace, .alignment = unit});
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

BlockBudget gemmReduceBudget(const RankGemmConfig &c, const Target &target) {
  if (c.carrier == Carrier::copyEngine)
    return copiedReduceScatterBudget(c, target);
  BlockBudget block = rankGemmBudget(target);
  int64_t rowBytes = c.bn * int64_t(sizeInBytes(c.out));
  block.addBuffer(SharedBytes::tile(c.bm, rowBytes));
  block.addRing(1);
  block.addBuffer(SharedBytes::tile(rowsAtOnce, rowBytes), termSlots);
  block.addRing(termSlots);
  return block;
}

Program gemmReduceScatterProgram(const RankGemmConfig &config, const TraceOptions &options) {
  if (config.carrier == Carrier::copyEngine)
    return copiedReduceScatterProgram(config, options);
  return trace("gemm_reduce_scatter", Reduction::scatter, config, options);
}

Program gemmAllReduceProgram(const RankGemmConfig &config, const TraceOptions &options) {
  return trace("gemm_all_reduce", Reduction::all, config, options);
}

} // namespace tlc::kernels
