// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule of attention backward: which role does what, and what runs under what.
#include "kernels/attention/backward/ExplicitBackward.h"

#include "runtime/target/Hardware.h"

#include <functional>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// One role loads tiles, one loads the numbers of their rows, one computes. A step has a tile of queries; its
/// scores were computed in the step before, under the reduction of that step's dQ:
///
///     weights and their sums under dO Vᵀ, then the gradients of scores; dV and dQ; under dK and the next
///     scores dQ leaves.
///
/// Scores have keys as rows, so that weights and gradients are left factors of dV and dK in registers. dQ
/// needs gradients of all rows: they go through shared memory.
class Schedule {
public:
  Schedule(Scope &k, const BackwardConfig &c, const BackwardArguments &p, const TileScheduler &scheduler)
      : k(k), c(c), p(p), tiles(tilesOfBlock(scheduler)), d(paddedRow(c.problem.d)),
        dv(paddedRow(c.problem.dv)), sharesColumns(kernels::sharesColumns(c)),
        hasQuerySums(c.dq == QuerySum::atomic), sharesProducts(hasQuerySums || sharesColumns),
        policy(sharesColumns ? WarpPolicy::fullColumn : WarpPolicy::fullRow),
        queryPolicy(c.bq < 2 * wgmmaRows ? WarpPolicy::fullColumn : WarpPolicy::fullRow) {
    ElementType dtype = c.problem.dtype;
    ks = k.shared("k", dtype, {c.bk, d}, {.slots = c.slots.keys});
    vs = k.shared("v", dtype, {c.bk, dv}, {.slots = c.slots.keys});
    qs = k.shared("q", dtype, {c.bq, d}, {.slots = c.stages});
    dos = k.shared("do", dtype, {c.bq, dv}, {.slots = c.slots.outputs});
    exponents = k.shared("exponent", f32, {c.bq}, {.slots = c.stages});
    deltas = k.shared("delta_tile", f32, {c.bq}, {.slots = c.stages});
    tileNumbers = k.shared("tile", i32, {1}, {.slots = c.stages});
    if (sharesProducts)
      products = k.shared("ds", dtype, {c.bk, c.bq}, {.slots = c.slots.products});
    if (sharesColumns)
      weightTiles = k.shared("p", dtype, {c.bk, c.bq}, {.slots = c.slots.products});
    auto ring = [&](const char *name, int64_t slots) {
      return k.ring(name, {.slots = slots, .producers = 1, .consumers = warpgroups});
    };
    // Who stores gradients of keys gives their tile back.
    kvRing = k.ring("kv", {.slots = c.slots.keys, .producers = 1, .consumers = hasStore() ? 1 : warpgroups});
    if (hasStore())
      sumRing = k.ring("sums", {.slots = c.slots.keys, .producers = warpgroups, .consumers = 1});
    qRing = ring("q", c.stages);
    doRing = ring("do", c.slots.outputs);
    numberRing = ring("numbers", c.stages);
    if (sharesProducts)
      productRing =
          k.ring("ds", {.slots = c.slots.products, .producers = warpgroups, .consumers = warpgroups});
    k.roles([&] {
      // The roles that do not compute fill a warpgroup, whose registers go to those that do.
      constexpr int64_t spare = 24;
      k.role("numbers", {.warps = 1, .registers = spare}, [&] { loadNumbers(); });
      k.role("load", {.warps = hasStore() ? 1 : 3, .registers = spare}, [&] { load(); });
      if (hasStore())
        k.role("store", {.warps = 2, .registers = spare}, [&] { store(); });
      k.role("math", {.warps = warpgroups * warpsPerWarpgroup}, [&] { compute(); });
    });
  }

private:
  /// Whether dK and dV leave through the memory of K and V.
  bool hasStore() const { return c.gradients == GradientType::same; }

  TileScheduler::Share tilesOfBlock(const TileScheduler &scheduler) const {
    auto [block] = k.grid(min(scheduler.tilesAtMost(), k.multiprocessors()));
    return scheduler.shareOf(block, k.blocks());
  }

  void forEachTile(const std::function<void(const GradientTile &)> &body) const {
    k.loop(tiles.count,
           [&](Index n) { body(p.keyTileAt(p.inputs.sequences.fieldsOf(Axis::keys, tiles.at(n)))); });
  }
  /// For each tile of queries that a tile of keys visits, head by head.
  void forEachVisit(const GradientTile &tile,
                    const std::function<void(const Sequence &, const Index &row)> &body) const {
    p.forEachHead(tile, [&](const Sequence &sequence) {
      VisitedTiles visited = p.queriesSeeing(tile, sequence);
      k.loop(visited.count, [&](Index i) { body(sequence, visited.at(i) * c.bq); });
    });
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  void load() {
    Cursor kv = kvRing.cursor(), q = qRing.cursor(), out = doRing.cursor();
    forEachTile([&](const GradientTile &tile) {
      kvRing.acquire(kv);
      kvRing.expect(kv, ks.slotBytes() + vs.slotBytes());
      copy(p.keys(tile.sequence, tile.row, tile.kvHead, c.bk), ks.slot(kv), kvRing.full(kv));
      copy(p.values(tile.sequence, tile.row, tile.kvHead, c.bk), vs.slot(kv), kvRing.full(kv));
      kv.advance();
      forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
        qRing.acquire(q);
        qRing.expect(q, qs.slotBytes());
        copy(p.queries(sequence, row, c.bq), qs.slot(q), qRing.full(q));
        q.advance();
        doRing.acquire(out);
        doRing.expect(out, dos.slotBytes());
        copy(p.outputGradients(sequence, row, c.bq), dos.slot(out), doRing.full(out));
        out.advance();
      });
    });
  }

  void loadNumbers() {
    Cursor at = numberRing.cursor();
    forEachTile([&](const GradientTile &tile) {
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

  void store() {
    Cursor kv = kvRing.cursor();
    forEachTile([&](const GradientTile &tile) {
      sumRing.wait(kv);
      copy(vs.slot(kv), p.valueGradients(tile));
      copy(ks.slot(kv), p.keyGradients(tile));
      kvRing.release(kv);
      kv.advance();
    });
  }

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  enum class Next : uint8_t { scores, none };
  enum class Edge : uint8_t { unmasked, masked, maskedIfPartial };

  /// What a role that computes carries from step to step.
  struct Sums {
    Cursor kv, q, out, number, product;
    Cursor next; ///< of q, one tile later
    Fragment ofKeys = {}, ofValues = {}, scores = {};
  };
  /// The tiles of queries that one head of a tile of keys visits.
  struct Visits {
    const GradientTile &keys;
    const Sequence &sequence;
    VisitedTiles tiles;
  };

  void startScores(Sums &sums) const {
    sums.scores = 0;
    qRing.wait(sums.next);
    gemmAsync(ks.slot(sums.kv), qs.slot(sums.next).t(), sums.scores, policy);
    sums.next.advance();
  }

  Fragment numbersIn(const Shared &slot) const {
    Fragment numbers = k.fragment(f32, {1, c.bq});
    copy(slot, numbers);
    return numbers;
  }

  FragmentValue seen(const Visits &visits, const Index &row, const FragmentValue &scores, Edge edge) const {
    auto masked = [&](const FragmentValue &all) {
      return p.masked(visits.sequence, {row, visits.keys.row, Axis::keys}, all);
    };
    if (edge == Edge::unmasked)
      return scores;
    if (edge == Edge::masked)
      return masked(scores);
    Fragment result = scores;
    k.when(visits.tiles.partial == visits.tiles.count, [&] { result = masked(result); });
    return result;
  }

  void step(Sums &sums, const Visits &visits, Edge edge, Next next) const {
    ElementType dtype = c.problem.dtype;
    Fragment dp = k.fragment(f32, {c.bk, c.bq}).named("dp");
    doRing.wait(sums.out);
    gemmAsync(vs.slot(sums.kv), dos.slot(sums.out).t(), dp, policy);
    numberRing.wait(sums.number);
    Index row = tileNumbers.slot(sums.number).read({0}) * c.bq; // computed by those with registers left
    FragmentValue scores = p.scores.of(sums.scores, p.scores.scale());
    Fragment weights = p.weights(seen(visits, row, scores, edge), numbersIn(exponents.slot(sums.number)));
    FragmentValue delta = numbersIn(deltas.slot(sums.number)); // not before: registers are few
    gemmWait(dp);
    Fragment gradients = p.gradients(weights, dp, scores, delta).to(dtype);
    Fragment factors = weights.to(dtype);
    if (sharesProducts) {
      productRing.acquire(sums.product);
      copy(gradients, products.slot(sums.product));
      if (sharesColumns)
        copy(factors, weightTiles.slot(sums.product));
      productRing.publish(sums.product);
    }
    numberRing.release(sums.number);
    sums.number.advance();

    if (sharesColumns) {
      productRing.wait(sums.product);
      gemmAsync(weightTiles.slot(sums.product), dos.slot(sums.out), sums.ofValues, policy);
    } else {
      gemmAsync(factors, dos.slot(sums.out), sums.ofValues);
    }
    auto releaseOutput = [&](int64_t pending) {
      gemmWait(sums.ofValues, pending);
      doRing.release(sums.out);
      sums.out.advance();
    };
    const int64_t after = next == Next::scores ? 2 : 1; // products that are started below
    auto startKeysAndScores = [&] {
      if (sharesColumns)
        gemmAsync(products.slot(sums.product), qs.slot(sums.q), sums.ofKeys, policy);
      else
        gemmAsync(gradients, qs.slot(sums.q), sums.ofKeys);
      if (next == Next::scores)
        startScores(sums);
    };
    if (hasQuerySums) {
      Fragment dq = k.fragment(f32, {c.bq, d}).named("dq");
      if (!sharesColumns)
        productRing.wait(sums.product);
      gemmAsync(products.slot(sums.product).t(), ks.slot(sums.kv), dq, queryPolicy);
      releaseOutput(1);
      startKeysAndScores();
      gemmWait(dq, after);
      if (!sharesColumns)
        productRing.release(sums.product);
      atomicAdd(dq, p.querySums(visits.sequence, row));
    } else {
      startKeysAndScores();
      releaseOutput(after);
    }
    gemmWait(sums.ofKeys, after - 1);
    if (next == Next::scores)
      gemmWait(sums.scores);
    if (sharesColumns)
      productRing.release(sums.product);
    if (sharesProducts)
      sums.product.advance();
    qRing.release(sums.q);
    sums.q.advance();
  }

  void visit(Sums &sums, const Visits &visits) const {
    k.when(visits.tiles.count > 0, [&] {
      startScores(sums);
      gemmWait(sums.scores);
      Index last = visits.tiles.count - 1, partial = min(visits.tiles.partial, last);
      k.loop(partial, [&](Index) { step(sums, visits, Edge::masked, Next::scores); });
      k.loop({partial, last}, [&](Index) { step(sums, visits, Edge::unmasked, Next::scores); });
      step(sums, visits, Edge::maskedIfPartial, Next::none);
    });
  }

  void compute() {
    Sums sums{.kv = kvRing.cursor(),
              .q = qRing.cursor(),
              .out = doRing.cursor(),
              .number = numberRing.cursor(),
              .product = sharesProducts ? productRing.cursor() : Cursor(),
              .next = qRing.cursor()};
    forEachTile([&](const GradientTile &tile) {
      sums.ofKeys = k.fragment(f32, {c.bk, d}).named("dk");
      sums.ofValues = k.fragment(f32, {c.bk, dv}).named("dv");
      sums.scores = k.fragment(f32, {c.bk, c.bq}).named("s");
      kvRing.wait(sums.kv);
      p.forEachHead(tile, [&](const Sequence &sequence) {
        visit(sums, {tile, sequence, p.queriesSeeing(tile, sequence)});
      });
      FragmentValue ofValues = sums.ofValues.to(c.gradientType());
      FragmentValue ofKeys = (sums.ofKeys * c.problem.scoreScale()).to(c.gradientType());
      if (hasStore()) {
        copy(ofValues, vs.slot(sums.kv));
        copy(ofKeys, ks.slot(sums.kv));
        sumRing.publish(sums.kv);
      } else {
        kvRing.release(sums.kv);
        copy(ofValues, p.valueGradients(tile));
        copy(ofKeys, p.keyGradients(tile));
      }
      sums.kv.advance();
    });
  }

  Scope &k;
  const BackwardConfig &c;
  const BackwardArguments &p;
  TileScheduler::Share tiles;
  int64_t d, dv;
  static constexpr int64_t warpgroups = 2; ///< that compute
  bool sharesColumns;
  bool hasQuerySums;
  bool sharesProducts;            ///< whether they go through shared memory
  WarpPolicy policy, queryPolicy; ///< of gradients of keys and of queries
  Shared ks, vs, qs, dos, exponents, deltas, tileNumbers, products, weightTiles;
  Ring kvRing, sumRing, qRing, doRing, numberRing, productRing;
};

} // namespace

void explicitKeyTiles(Scope &k, const BackwardConfig &config, const BackwardArguments &arguments,
                      const TileScheduler &scheduler) {
  Schedule(k, config, arguments, scheduler);
}

} // namespace tlc::kernels
