// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles in shared memory, their rings, and the roles that move them.
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
  kvRing = k.ring("kv", {.slots = c.slots.keys});
  if (hasStore())
    sumRing = k.ring("sums", {.slots = c.slots.keys});
  qRing = k.ring("q", {.slots = c.stages});
  doRing = k.ring("do", {.slots = c.slots.outputs});
  numberRing = k.ring("numbers", {.slots = c.stages});
  if (hasQuerySums)
    productRing = k.ring("ds", {.slots = c.slots.products});
  if (p.addsByTma()) {
    querySums = k.shared("dq", f32, {c.bq, querySumTile.columns}, {.slots = querySumTile.slots});
    querySumRing = k.ring("dq", {.slots = querySumTile.slots});
  }
  if (p.takesTiles())
    taken.emplace(k, takenTileSlots);
  if (p.isOrdered()) {
    constexpr int64_t slots = 2; // turns are awaited, and announced, beside the next step
    turnRing = k.ring("turns", {.slots = slots});
    addedRing = k.ring("added", {.slots = slots});
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
  Cursor kv = kvRing.cursor(), q = qRing.cursor(), out = doRing.cursor();
  forEachTile([&](const GradientTile &tile) {
    kvRing.acquire(kv);
    auto loadKeys = [&] {
      p.inputs.awaitKeys(tile.sequence, tile.row, c.bk);
      kvRing.expect(kv, ks.slotBytes() + vs.slotBytes());
      copy(p.keys(tile.sequence, tile.row, tile.kvHead, c.bk, {0, d}), ks.slot(kv), kvRing.full(kv));
      copy(p.values(tile.sequence, tile.row, tile.kvHead, c.bk, {0, dv}), vs.slot(kv), kvRing.full(kv));
    };
    p.ifSeen(tile, loadKeys, [&] { kvRing.publish(kv); });
    kv.advance();
    forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
      qRing.acquire(q);
      qRing.expect(q, qs.slotBytes());
      copy(p.queries(sequence, row, c.bq, {0, d}), qs.slot(q), qRing.full(q));
      q.advance();
      doRing.acquire(out);
      doRing.expect(out, dos.slotBytes());
      copy(p.outputGradients(sequence, row, c.bq, {0, dv}), dos.slot(out), doRing.full(out));
      out.advance();
    });
  });
  p.inputs.endStep(block);
}

void BackwardRoles::loadNumbers() {
  Cursor at = numberRing.cursor();
  forEachTile(TileUse::takes, [&](const GradientTile &tile) {
    forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
      BackwardArguments::RowNumbers numbers = p.rowNumbers(sequence, row, {1, c.bq});
      Fragment exponent = numbers.exponent, delta = numbers.delta;
      numberRing.acquire(at);
      copy(exponent, exponents.slot(at));
      copy(delta, deltas.slot(at));
      tileNumbers.slot(at).write({0}, row / c.bq);
      numberRing.publish(at);
      at.advance();
    });
  });
}

/// Says which tiles of queries are passed, and stores gradients of keys.
void BackwardRoles::store() {
  Cursor kv = hasStore() ? kvRing.cursor() : Cursor(), added = p.isOrdered() ? addedRing.cursor() : Cursor();
  forEachTile([&](const GradientTile &tile) {
    if (p.isOrdered())
      p.forEachHead(tile, [&](const Sequence &sequence) { announceTurns(tile, sequence, added); });
    if (!hasStore())
      return;
    sumRing.wait(kv);
    p.forEachResult(p.ofValues, tile, {0, dv}, [&](const Slice &rows) { copy(vs.slot(kv), rows); });
    p.forEachResult(p.ofKeys, tile, {0, d}, [&](const Slice &rows) { copy(ks.slot(kv), rows); });
    kvRing.release(kv);
    kv.advance();
  });
}

/// Adds tiles of dQ that those who compute have left.
void BackwardRoles::sumQueries() {
  Cursor sum = querySumRing.cursor();
  forEachTile([&](const GradientTile &tile) {
    forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
      for (int64_t column = 0; column < d; column += querySumTile.columns) {
        querySumRing.wait(sum);
        atomicAdd(querySums.slot(sum), p.querySums(sequence, row, {column, querySumTile.columns}));
        querySumRing.release(sum);
        sum.advance();
      }
    });
  });
}

void BackwardRoles::announceTurns(const GradientTile &tile, const Sequence &sequence, Cursor &added) const {
  VisitedTiles visited = p.queriesSeeing(tile, sequence);
  p.passBefore(sequence, tile.row, visited);
  k.loop(visited.count, [&](Index i) {
    addedRing.wait(added);
    p.passAfter(sequence, tile.row, visited, i);
    addedRing.release(added);
    added.advance();
  });
  p.passRest(sequence, tile.row, visited);
}

void BackwardRoles::awaitTurns() {
  Cursor turn = turnRing.cursor();
  forEachTile([&](const GradientTile &tile) {
    forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
      turnRing.acquire(turn);
      p.awaitTurn(sequence, tile.row, row / c.bq + 1);
      turnRing.publish(turn);
      turn.advance();
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
