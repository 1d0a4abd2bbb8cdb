// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles in shared memory, their channels, and the roles that move them.
#include "kernels/attention/backward/BackwardRoles.h"

namespace tlc::kernels {

using namespace dsl;

BackwardRoles::BackwardRoles(Scope &k, const BackwardConfig &c, const BackwardArguments &p,
                             const TileScheduler &scheduler, QuerySumTile querySumTile)
    : k(k), c(c), p(p), block(p.numberOfBlock(scheduler)), d(paddedRow(c.problem.d)),
      dv(paddedRow(c.problem.dv)), hasQuerySums(addsQuerySums(c.dq)), scheduler(scheduler),
      querySumTile(querySumTile) {
  ElementType dtype = c.problem.dtype;
  ks = k.shared("k", dtype, {c.bk, d}, {.slots = c.slots.keys});
  vs = k.shared("v", dtype, {c.bk, dv}, {.slots = c.slots.keys});
  qs = k.shared("q", dtype, {c.bq, d}, {.slots = c.stages});
  dos = k.shared("do", dtype, {c.bq, dv}, {.slots = c.slots.outputs});
  exponents = k.shared("exponent", f32, {c.bq}, {.slots = c.stages});
  deltas = k.shared("delta_tile", f32, {c.bq}, {.slots = c.stages});
  tileNumbers = k.shared("tile", i32, {1}, {.slots = c.stages});
  if (hasQuerySums)
    products = k.shared("ds", dtype, {c.bk, c.bq}, {.slots = c.slots.products});
  // Who stores gradients of keys gives their tile back.
  kv = k.channel("kv", {.slots = c.slots.keys});
  if (hasStore())
    keySums = k.channel("sums", kv);
  q = k.channel("q", {.slots = c.stages});
  out = k.channel("do", {.slots = c.slots.outputs});
  numbers = k.channel("numbers", {.slots = c.stages});
  if (hasQuerySums)
    scoreGradients = k.channel("ds", {.slots = c.slots.products});
  if (p.addsByTma()) {
    querySums = k.shared("dq", f32, {c.bq, querySumTile.columns}, {.slots = querySumTile.slots});
    querySumTiles = k.channel("dq", {.slots = querySumTile.slots});
  }
  if (p.takesTiles())
    taken.emplace(k, takenTileSlots);
  if (p.isOrdered()) {
    constexpr int64_t slots = 2; // turns are awaited, and announced, beside the next step
    turns = k.channel("turns", {.slots = slots});
    added = k.channel("added", {.slots = slots});
  }
}

void BackwardRoles::declareMemoryRoles() {
  // The roles that do not compute fill a warpgroup, whose registers go to those that do.
  constexpr int64_t spare = 24;
  bool isOrdered = p.isOrdered(), hasThird = hasStore() || isOrdered, hasFourth = isOrdered || p.addsByTma();
  k.role("numbers", {.warps = 1, .registers = spare}, [&] { loadNumbers(); });
  k.role("load", {.warps = hasThird ? 1 : hasFourth ? 2 : 3, .registers = spare}, [&] { load(); });
  if (hasThird)
    k.role("store", {.warps = hasFourth ? 1 : 2, .registers = spare}, [&] { store(); });
  if (isOrdered)
    k.role("turns", {.warps = 1, .registers = spare}, [&] { awaitTurns(); });
  if (p.addsByTma())
    k.role("sums", {.warps = 1, .registers = spare}, [&] { sumQueries(); });
}

void BackwardRoles::forEachTile(TileUse use, const std::function<void(const GradientTile &)> &body) const {
  auto visit = [&](const TilePlace &place) {
    GradientTile tile = p.tileAt(Axis::keys, p.inputs.sequences.fieldsOf(Axis::keys, place));
    if (!p.skipsUnseenKeys())
      return body(tile);
    k.when(p.isSeen(tile), [&] { body(tile); });
  };
  if (!p.takesTiles()) {
    TileScheduler::Share tiles = scheduler.shareOf(block, k.blocks());
    k.loop(tiles.count, [&](Index n) { visit(tiles.at(n)); });
    return;
  }
  Index count = scheduler.tileCount(), most = scheduler.takenAtMost();
  auto visitNumber = [&](const Index &number) { visit(scheduler.at(number)); };
  if (use == TileUse::follows) {
    taken->follow(most, count, visitNumber);
    return;
  }
  // The first one is that of the block's number.
  auto write = [&](const Shared &number, const Index &n) {
    k.when(n == 0, [&] { number.write({0}, block); }, [&] { number.write({0}, p.takeTile()); });
  };
  taken->take(most, count, write, visitNumber);
}

void BackwardRoles::forEachVisit(const GradientTile &tile,
                                 const std::function<void(const Sequence &, const Index &row)> &body) const {
  p.forEachHead(tile, [&](const Sequence &sequence) {
    VisitedTiles visited = p.queriesSeeing(tile, sequence);
    k.loop(visited.count, [&](Index i) { body(sequence, visited.at(i) * c.bq); });
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void BackwardRoles::load() {
  forEachTile([&](const GradientTile &tile) {
    auto loadKeys = [&] {
      p.inputs.awaitKeys(tile.sequence, tile.row, c.bk);
      kv.put([&](const Slot &at) {
        copy(p.keys(tile.sequence, tile.row, tile.kvHead, c.bk, {0, d}), ks.slot(at));
        copy(p.values(tile.sequence, tile.row, tile.kvHead, c.bk, {0, dv}), vs.slot(at));
      });
    };
    p.ifSeen(tile, loadKeys, [&] { kv.put(); });
    forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
      q.put([&](const Slot &at) { copy(p.queries(sequence, row, c.bq, {0, d}), qs.slot(at)); });
      out.put([&](const Slot &at) { copy(p.outputGradients(sequence, row, c.bq, {0, dv}), dos.slot(at)); });
    });
  });
  p.inputs.endStep(block);
}

void BackwardRoles::loadNumbers() {
  forEachTile(TileUse::takes, [&](const GradientTile &tile) {
    forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
      BackwardArguments::RowNumbers ofRows = p.rowNumbers(sequence, row, {1, c.bq});
      Fragment exponent = ofRows.exponent, delta = ofRows.delta;
      numbers.put([&](const Slot &at) {
        copy(exponent, exponents.slot(at));
        copy(delta, deltas.slot(at));
        tileNumbers.slot(at).write({0}, row / c.bq);
      });
    });
  });
}

/// Says which tiles of queries are passed, and stores gradients of keys.
void BackwardRoles::store() {
  forEachTile([&](const GradientTile &tile) {
    if (p.isOrdered())
      p.forEachHead(tile, [&](const Sequence &sequence) { announceTurns(tile, sequence); });
    if (!hasStore())
      return;
    Slot at = keySums.get();
    p.forEachResult(p.ofValues, tile, {0, dv}, [&](const Slice &rows) { copy(vs.slot(at), rows); });
    p.forEachResult(p.ofKeys, tile, {0, d}, [&](const Slice &rows) { copy(ks.slot(at), rows); });
    kv.release();
  });
}

/// Adds tiles of dQ that those who compute have left.
void BackwardRoles::sumQueries() {
  forEachTile([&](const GradientTile &tile) {
    forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
      for (int64_t column = 0; column < d; column += querySumTile.columns) {
        atomicAdd(querySums.slot(querySumTiles.get()),
                  p.querySums(sequence, row, {column, querySumTile.columns}));
        querySumTiles.release();
      }
    });
  });
}

void BackwardRoles::announceTurns(const GradientTile &tile, const Sequence &sequence) const {
  VisitedTiles visited = p.queriesSeeing(tile, sequence);
  p.passBefore(sequence, tile.row, visited);
  k.loop(visited.count, [&](Index i) {
    added.get();
    p.passAfter(sequence, tile.row, visited, i);
    added.release();
  });
  p.passRest(sequence, tile.row, visited);
}

void BackwardRoles::awaitTurns() {
  forEachTile([&](const GradientTile &tile) {
    forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
      turns.put([&](const Slot &) { p.awaitTurn(sequence, tile.row, row / c.bq + 1); });
    });
  });
}

//===----------------------------------------------------------------------===//
// For those who compute
//===----------------------------------------------------------------------===//

Fragment BackwardRoles::numbersIn(const Shared &slot) const {
  Fragment numbers = k.fragment(f32, {1, c.bq});
  copy(slot, numbers);
  return numbers;
}

FragmentValue BackwardRoles::seen(const Visits &visits, const Index &row, const FragmentValue &scores,
                                  const Edge &edge) const {
  auto masked = [&](const FragmentValue &all) {
    return p.masked(visits.sequence, {row, visits.keys.row, Axis::keys}, all);
  };
  if (const bool *isMasked = std::get_if<bool>(&edge))
    return *isMasked ? masked(scores) : scores;
  Fragment result = scores;
  k.when(std::get<std::function<Predicate()>>(edge)(), [&] { result = masked(result); });
  return result;
}

} // namespace tlc::kernels
