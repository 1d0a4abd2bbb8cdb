// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule of attention forward: which role does what, and what runs under what.
#include "kernels/attention/ExplicitForward.h"

#include "kernels/attention/ForwardProblem.h"
#include "kernels/attention/TileOrder.h"

#include <functional>
#include <memory>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// One role loads, one stores, and one computes. The scores of a tile of keys are computed before the weights
/// of the one before meet V, and their softmax runs under that product; so do the next tile's first scores
/// under this tile's last product. Where tiles are is computed by the load role alone, and handed on with
/// their Q.
class Schedule {
public:
  Schedule(Scope &k, const ForwardConfig &c, const ForwardProblem &p, RowOrder rows,
           const PackedOrder *packed)
      : k(k), c(c), p(p), warpgroups(c.bq / 64), acrossTiles(c.overlap == TileOverlap::nextTile),
        throughQueries(c.d == c.dv) {
    auto [block] = k.grid(min(p.tiles(), k.multiprocessors()));
    chooseOrder(block, rows, packed);
    // Where there are no keys there is nothing that the TMA could load.
    count = where(p.sk == 0, Index(0), tilesOfBlock);
    k.when(p.sk == 0, [&] { storeNothingSeen(); });

    int64_t tileSlots = acrossTiles ? 2 : 1;
    positions = k.shared("tile", i32, {p.positionSize()}, {.slots = tileSlots});
    next = k.shared("next", i32, {p.positionSize()});
    qs = k.shared("q", c.dtype, {c.bq, c.d}, {.slots = tileSlots});
    ks = k.shared("k", c.dtype, {c.bk, c.d}, {.slots = c.stages});
    vs = k.shared("v", c.dtype, {c.bk, c.dv}, {.slots = c.stages});
    // A tile of O leaves through the slot of its Q where it fits.
    os = throughQueries ? qs : k.shared("o", c.dtype, {c.bq, c.dv}, {.slots = tileSlots});
    qRing =
        k.ring("q", {.slots = tileSlots, .producers = 1, .consumers = throughQueries ? 1 : warpgroups + 1});
    oRing = k.ring("o", {.slots = tileSlots, .producers = warpgroups, .consumers = 1});
    kRing = k.ring("k", {.slots = c.stages, .producers = 1, .consumers = warpgroups});
    vRing = k.ring("v", {.slots = c.stages, .producers = 1, .consumers = warpgroups});
    k.roles([&] {
      int64_t spare = warpgroups > 2 ? 32 : 24;
      k.role("load", {.warps = 1, .registers = spare}, [&] { load(); });
      k.role("store", {.warps = 3, .registers = spare}, [&] { store(); });
      k.role("math", {.warps = 4 * warpgroups, .registers = warpgroups > 2 ? 160 : 240}, [&] { compute(); });
    });
  }

private:
  void chooseOrder(const Index &block, RowOrder rows, const PackedOrder *packed) {
    if (packed) {
      tilesOfBlock = packed->countFor(block, k.blocks());
      positionAt = [=, blocks = k.blocks()](const Index &n) {
        return packed->at(packed->numberFor(n, block, blocks));
      };
      return;
    }
    TileOrder::Space space{
        .rowTiles = p.rowTiles(), .heads = p.heads, .kvHeads = p.kvHeads, .batches = p.batches, .keys = p.sk};
    auto order = std::make_shared<TileOrder>(c, rows, space, block, k.blocks());
    tilesOfBlock = order->count;
    positionAt = [this, order](const Index &n) {
      auto [row, head, batch] = order->at(n);
      return p.positionOf(row, head, batch);
    };
  }

  void storeNothingSeen() {
    k.loop(tilesOfBlock, [&](Index n) {
      ForwardTile tile = p.tileAt(positionAt(n));
      FragmentValue nothing = k.fragment(f32, {c.bq, 1});
      auto [rows, logSum] = p.finish(tile, k.fragment(f32, {c.bq, c.dv}), nothing, nothing - inf);
      copy(rows.to(c.dtype), p.output(tile));
      copy(logSum, p.logSums(tile));
    });
  }

  ForwardProblem::Position read(const Shared &position) const {
    ForwardProblem::Position fields;
    for (int64_t i = 0; i < p.positionSize(); ++i)
      fields.push_back(position.read({i}));
    return fields;
  }
  void write(const Shared &position, const ForwardProblem::Position &fields) const {
    for (size_t i = 0; i < fields.size(); ++i)
      position.write({int64_t(i)}, fields[i]);
  }
  /// Rows that see nothing get what a tile of keys, all masked, gives them.
  ForwardTile tileAt(const ForwardProblem::Position &position) const {
    ForwardTile tile = p.tileAt(position);
    tile.keys = tile.keys.orOne();
    return tile;
  }
  ForwardTile tileAt(const Shared &position) const { return tileAt(read(position)); }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  void load() {
    Cursor q = qRing.cursor(), kc = kRing.cursor(), vc = vRing.cursor();
    // Divisions take long: where the next tile is, is computed while this one's copies wait for their slots.
    auto findTile = [&](const Index &round) { write(next, positionAt(round)); };
    findTile(0);
    k.loop(count, [&](Index round) {
      ForwardProblem::Position position = read(next);
      ForwardTile tile = tileAt(position);
      auto loadKeys = [&](Index i) {
        kRing.acquire(kc);
        kRing.expect(kc, ks.slotBytes());
        copy(p.keys(tile, tile.keys.at(i)), ks.slot(kc), kRing.full(kc));
        kc.advance();
      };
      auto loadValues = [&](Index i) {
        vRing.acquire(vc);
        vRing.expect(vc, vs.slotBytes());
        copy(p.values(tile, tile.keys.at(i)), vs.slot(vc), vRing.full(vc));
        vc.advance();
      };
      qRing.acquire(q);
      write(positions.slot(q), position);
      qRing.expect(q, qs.slotBytes());
      copy(p.queries(tile), qs.slot(q), qRing.full(q));
      q.advance();
      loadKeys(0);
      findTile(round + 1);
      k.loop(tile.keys.count - 1, [&](Index i) {
        loadKeys(i + 1);
        loadValues(i);
      });
      loadValues(tile.keys.count - 1);
    });
  }

  void store() {
    Cursor at = qRing.cursor();
    k.loop(count, [&](Index) {
      oRing.wait(at);
      ForwardTile tile = tileAt(positions.slot(at));
      copy(os.slot(at), p.output(tile));
      if (!throughQueries)
        oRing.release(at);
      qRing.release(at);
      at.advance();
    });
  }

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  enum class Edge : uint8_t { unmasked, masked };

  void compute() {
    Cursor q = qRing.cursor(), kc = kRing.cursor(), vc = vRing.cursor();
    Cursor done = oRing.cursor(); // one tile behind q
    LazySoftmax softmax = p.softmax();
    Fragment o = k.fragment(f32, {c.bq, c.dv}).named("o");
    Fragment weights = k.fragment(c.dtype, {c.bq, c.bk}).named("p"); // of the tile of keys whose V is next

    auto startScores = [&](Fragment &s) {
      kRing.wait(kc);
      gemmAsync(qs.slot(q), ks.slot(kc).t(), s);
    };
    auto startOutput = [&] {
      vRing.wait(vc);
      gemmAsync(weights, vs.slot(vc), o);
    };
    auto finishScores = [&](Fragment &s, int64_t pending) {
      gemmWait(s, pending);
      kRing.release(kc);
      kc.advance();
    };
    auto finishOutput = [&] {
      gemmWait(o);
      vRing.release(vc);
      vc.advance();
    };
    auto scoresOf = [&](const ForwardTile &tile, const Fragment &s, const Index &i, Edge edge) {
      FragmentValue scores = p.scores(s);
      return edge == Edge::masked ? p.masked(tile, scores, tile.keys.at(i)) : scores;
    };

    // Scores of a tile of keys; their softmax runs under the product of the tile before with V.
    auto step = [&](const ForwardTile &tile, const Index &i, Edge edge) {
      Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
      startScores(s);
      startOutput();
      finishScores(s, 1);
      LazySoftmax::Step next = softmax.add(scoresOf(tile, s, i, edge));
      finishOutput();
      softmax.settle(next, o);
      weights = next.weights;
    };

    // The first tile of keys. What `startBeside` starts runs under its scores' softmax.
    auto begin = [&](const std::function<void()> &startBeside, const std::function<void()> &finishBeside,
                     int64_t pending) {
      Fragment s = k.fragment(f32, {c.bq, c.bk}).named("s");
      qRing.wait(q);
      ForwardTile tile = tileAt(positions.slot(q));
      startScores(s);
      startBeside();
      finishScores(s, pending);
      Fragment scores = p.scores(s);
      k.when(tile.keys.edges > 0, [&] { scores = p.masked(tile, scores, tile.keys.at(0)); });
      FragmentValue first = softmax.first(scores);
      finishBeside();
      weights = first.to(c.dtype);
    };
    auto beginAlone = [&] { begin([] {}, [] {}, 0); };

    if (acrossTiles)
      k.when(count > 0, beginAlone);
    k.loop(count, [&](Index round) {
      if (!acrossTiles)
        beginAlone();
      ForwardTile tile = tileAt(positions.slot(q));
      Index edges = max(tile.keys.edges, 1);
      k.loop({1, edges}, [&](Index i) { step(tile, i, Edge::masked); });
      k.loop({edges, tile.keys.count}, [&](Index i) { step(tile, i, Edge::unmasked); });
      q.advance();

      Fragment sum = softmax.sum, base = softmax.base;
      auto end = [&] {
        startOutput();
        finishOutput();
      };
      if (acrossTiles)
        k.when(round + 1 < count, [&] { begin(startOutput, finishOutput, 1); }, end);
      else
        end();
      ForwardTile finished = tileAt(positions.slot(done));
      auto [rows, logSum] = p.finish(finished, o, sum, base);
      copy(logSum, p.logSums(finished));
      if (!throughQueries) {
        qRing.release(done);
        oRing.acquire(done);
      }
      copy(rows.to(c.dtype), os.slot(done));
      oRing.publish(done);
      done.advance();
      o = 0;
    });
  }

  Scope &k;
  const ForwardConfig &c;
  const ForwardProblem &p;
  int64_t warpgroups;
  bool acrossTiles, throughQueries;
  std::function<ForwardProblem::Position(const Index &)> positionAt; ///< of this block's tile number n
  Index tilesOfBlock, count;                                         ///< and how many of them have keys
  Shared positions, next; ///< of the tiles in slots, and of the one to be loaded
  Shared qs, ks, vs, os;
  Ring qRing, oRing, kRing, vRing;
};

} // namespace

void explicitForward(Scope &k, const ForwardConfig &config, const ForwardProblem &problem, RowOrder rows,
                     const PackedOrder *packed) {
  Schedule(k, config, problem, rows, packed);
}

} // namespace tlc::kernels
