// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule of attention backward for tiles of 64 keys: who computes what, and what runs under what.
#include "kernels/attention/backward/BackwardRoles.h"
#include "kernels/attention/backward/ExplicitBackward.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <vector>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Columns of a product: an instruction's accumulator has no more registers than a thread is launched with.
constexpr int64_t columnsTogether = 128;

/// Three roles compute, of one warpgroup each, so that every one has all 64 keys of a tile:
///
///     weights: scores, their weights, dV;
///     gradients: dO Vᵀ, the gradients of scores, dK;
///     queries: dQ, which it adds.
///
/// Weights and gradients of scores are left factors of dV and dK in registers, and no factor is read twice.
/// Weights go to the second role through shared memory, gradients of scores to the third. The last role gives
/// numbers of queries back, for all that read them before. While one waits or adds to memory, products of the
/// others run. The first two start the scores and dO Vᵀ of the next tile of queries before they await dV and
/// dK. No product is in flight when a step ends: ptxas would let each finish before it starts another.
class NarrowTiles : BackwardRoles {
public:
  NarrowTiles(Scope &k, const BackwardConfig &c, const BackwardArguments &p, const TileScheduler &scheduler)
      : BackwardRoles(k, c, p, scheduler, {.columns = narrowQuerySumColumns, .slots = narrowQuerySumSlots}) {
    slopes = k.shared("p", c.problem.dtype, {c.bk, c.bq}, {.slots = 1});
    slopeRing = k.ring("p", {.slots = 1});
    if (hasStore())
      haveRead = k.namedBarrier((rowUsers + (hasQuerySums ? 1 : 0)) * warpsPerWarpgroup);
    k.roles([&] {
      declareMemoryRoles();
      // It has no sums from step to step, and leaves its registers to the other two.
      constexpr int64_t few = 72;
      if (hasQuerySums)
        k.role("queries", {.warps = warpsPerWarpgroup, .registers = few}, [&] { sumUpQueries(); });
      k.role("weights", {.warps = warpsPerWarpgroup}, [&] { computeWeights(); });
      k.role("gradients", {.warps = warpsPerWarpgroup}, [&] { computeGradients(); });
    });
  }

private:
  /// Rows of 64 keys, in parts of columns.
  struct RowSum {
    std::vector<ColumnRange> columns;
    std::vector<Fragment> parts;
  };
  RowSum sumOfRows(const char *name, int64_t length) const {
    RowSum sum;
    for (int64_t first = 0; first < length; first += columnsTogether) {
      sum.columns.push_back({first, std::min(columnsTogether, length - first)});
      sum.parts.push_back(k.fragment(f32, {c.bk, sum.columns.back().count}).named(name));
    }
    return sum;
  }
  static Shared columnsOf(const Shared &tile, const RowSum &sum, size_t part) {
    const ColumnRange &columns = sum.columns[part];
    return sum.parts.size() == 1 ? tile : tile.columns(columns.first, columns.count);
  }
  static void startRows(const Fragment &factor, const Shared &rows, RowSum &sum) {
    for (size_t i = 0; i < sum.parts.size(); ++i)
      gemmAsync(factor, columnsOf(rows, sum, i), sum.parts[i]);
  }

  /// What the roles that have dV and dK carry from step to step.
  struct Sums {
    Cursor kv, q, out, number, slope, product;
    RowSum ofRows = {};
    Fragment scores = {};  ///< or dO Vᵀ
    Fragment weights = {}; ///< as a left factor
  };
  Sums newSums() const {
    return {.kv = kvRing.cursor(),
            .q = qRing.cursor(),
            .out = doRing.cursor(),
            .number = numberRing.cursor(),
            .slope = slopeRing.cursor(),
            .product = hasQuerySums ? productRing.cursor() : Cursor()};
  }

  //===--------------------------------------------------------------------===//
  // Weights and dV
  //===--------------------------------------------------------------------===//

  void computeWeights() {
    Sums sums = newSums();
    forEachTile([&](const GradientTile &tile) {
      sums.ofRows = sumOfRows("dv", dv);
      sums.scores = k.fragment(f32, {c.bk, c.bq}).named("s");
      sums.weights = k.fragment(c.problem.dtype, {c.bk, c.bq}).named("p");
      kvRing.wait(sums.kv);
      p.forEachHead(tile, [&](const Sequence &sequence) {
        visit(sums, {tile, sequence, p.queriesSeeing(tile, sequence)});
      });
      finish(sums, p.ofValues, tile, vs);
    });
  }

  void visit(Sums &sums, const Visits &visits) const {
    const VisitedTiles &tiles = visits.tiles;
    auto step = [&](const Edge &edge) {
      startValues(sums);
      startScores(sums);
      finishValues(sums, 1);
      makeWeights(sums, visits, edge);
    };
    k.when(tiles.count > 0, [&] {
      startScores(sums);
      makeWeights(sums, visits, [&] { return p.isOrdered() ? tiles.isPartial(0) : tiles.partial > 0; });
      if (p.isOrdered()) {
        k.loop({1, tiles.count}, [&](Index i) { step([&] { return tiles.isPartial(i); }); });
      } else {
        k.loop({1, tiles.partial}, [&](Index) { step(true); });
        k.loop({max(tiles.partial, 1), tiles.count}, [&](Index) { step(false); });
      }
      startValues(sums);
      finishValues(sums, 0);
    });
  }

  void startScores(Sums &sums) const {
    sums.scores = 0;
    qRing.wait(sums.q);
    gemmAsync(ks.slot(sums.kv), qs.slot(sums.q).t(), sums.scores);
  }
  /// Of the scores that were started last; hands them over, too.
  void makeWeights(Sums &sums, const Visits &visits, const Edge &edge) const {
    numberRing.wait(sums.number);
    Fragment exponent = numbersIn(exponents.slot(sums.number));
    Index row = rowAt(sums.number);
    gemmWait(sums.scores);
    qRing.release(sums.q);
    sums.q.advance();
    FragmentValue scores = p.scores.of(sums.scores, p.scores.scale());
    Fragment weights = p.weights(seen(visits, row, scores, edge), exponent);
    sums.number.advance();
    sums.weights = weights.to(c.problem.dtype);
    slopeRing.acquire(sums.slope);
    copy(p.slopes(weights, scores).to(c.problem.dtype), slopes.slot(sums.slope));
    slopeRing.publish(sums.slope);
    sums.slope.advance();
  }
  void startValues(Sums &sums) const {
    doRing.wait(sums.out);
    startRows(sums.weights, dos.slot(sums.out), sums.ofRows);
  }
  void finishValues(Sums &sums, int64_t pending) const {
    waitFor(sums.ofRows, pending);
    doRing.release(sums.out);
    sums.out.advance();
  }

  //===--------------------------------------------------------------------===//
  // Gradients of scores and dK
  //===--------------------------------------------------------------------===//

  void computeGradients() {
    Sums sums = newSums();
    forEachTile([&](const GradientTile &tile) {
      sums.ofRows = sumOfRows("dk", d);
      sums.scores = k.fragment(f32, {c.bk, c.bq}).named("dp");
      kvRing.wait(sums.kv);
      p.forEachHead(tile, [&](const Sequence &sequence) {
        Index count = p.queriesSeeing(tile, sequence).count;
        k.when(count > 0, [&] {
          startWeightGradients(sums);
          finishWeightGradients(sums);
          k.loop({1, count}, [&](Index) { useGradients(sums, true); });
          useGradients(sums, false);
        });
      });
      finish(sums, p.ofKeys, tile, ks);
    });
  }

  void startWeightGradients(Sums &sums) const {
    sums.scores = 0;
    doRing.wait(sums.out);
    gemmAsync(vs.slot(sums.kv), dos.slot(sums.out).t(), sums.scores);
  }
  void finishWeightGradients(Sums &sums) const {
    gemmWait(sums.scores);
    doRing.release(sums.out);
    sums.out.advance();
  }

  void useGradients(Sums &sums, bool hasNext) const {
    ElementType dtype = c.problem.dtype;
    numberRing.wait(sums.number);
    Fragment delta = numbersIn(deltas.slot(sums.number));
    Fragment slope = k.fragment(dtype, {c.bk, c.bq});
    slopeRing.wait(sums.slope);
    copy(slopes.slot(sums.slope), slope);
    slopeRing.release(sums.slope);
    sums.slope.advance();
    if (!hasQuerySums)
      numberRing.release(sums.number);
    sums.number.advance();
    Fragment gradients = (slope.to(f32) * (sums.scores - delta)).to(dtype);
    if (hasQuerySums) {
      productRing.acquire(sums.product);
      copy(gradients, products.slot(sums.product));
      productRing.publish(sums.product);
      sums.product.advance();
    }
    qRing.wait(sums.q);
    startRows(gradients, qs.slot(sums.q), sums.ofRows);
    if (hasNext)
      startWeightGradients(sums);
    waitFor(sums.ofRows, hasNext ? 1 : 0);
    qRing.release(sums.q);
    sums.q.advance();
    if (hasNext)
      finishWeightGradients(sums);
  }

  //===--------------------------------------------------------------------===//
  // What both do, and dQ
  //===--------------------------------------------------------------------===//

  static void waitFor(RowSum &sum, int64_t pending) {
    for (Fragment &part : sum.parts)
      gemmWait(part, pending);
  }

  /// dV or dK leaves, through the memory of V or K once all roles have read them.
  void finish(Sums &sums, const GradientSum &gradient, const GradientTile &tile, const Shared &rows) const {
    const RowSum &sum = sums.ofRows;
    if (hasStore()) {
      haveRead.sync();
      for (size_t i = 0; i < sum.parts.size(); ++i)
        copy(p.finished(gradient, sum.parts[i]), columnsOf(rows.slot(sums.kv), sum, i));
      sumRing.publish(sums.kv);
    } else {
      kvRing.release(sums.kv);
      for (size_t i = 0; i < sum.parts.size(); ++i)
        p.store(gradient, tile, sum.parts[i], sum.columns[i]);
    }
    sums.kv.advance();
  }

  void sumUpQueries() {
    QueryCursors at{.kv = kvRing.cursor(),
                    .number = numberRing.cursor(),
                    .product = productRing.cursor(),
                    .turn = p.isOrdered() ? turnRing.cursor() : Cursor(),
                    .added = p.isOrdered() ? addedRing.cursor() : Cursor(),
                    .querySum = p.addsByTma() ? querySumRing.cursor() : Cursor()};
    forEachTile([&](const GradientTile &tile) {
      kvRing.wait(at.kv);
      p.forEachHead(tile, [&](const Sequence &sequence) {
        k.loop(p.queriesSeeing(tile, sequence).count, [&](Index) { addQueries(at, sequence); });
      });
      if (hasStore())
        haveRead.sync();
      else
        kvRing.release(at.kv);
      at.kv.advance();
    });
  }
  struct QueryCursors {
    Cursor kv, number, product, turn, added, querySum;
  };

  /// A step's part of dQ, some columns at a time: this role has registers for no more.
  void addQueries(QueryCursors &at, const Sequence &sequence) const {
    numberRing.wait(at.number);
    Index row = rowAt(at.number);
    productRing.wait(at.product);
    if (p.isOrdered())
      turnRing.wait(at.turn);
    for (int64_t first = 0; first < d; first += narrowQuerySumColumns) {
      ColumnRange columns = {first, narrowQuerySumColumns};
      Fragment dq = k.fragment(f32, {c.bq, columns.count}).named("dq");
      Shared keys = ks.slot(at.kv);
      gemmAsync(products.slot(at.product).t(), columns.count == d ? keys : keys.columns(first, columns.count),
                dq);
      gemmWait(dq);
      if (first + columns.count == d)
        productRing.release(at.product);
      if (p.addsByTma()) {
        querySumRing.acquire(at.querySum);
        copy(dq, querySums.slot(at.querySum));
        querySumRing.publish(at.querySum);
        at.querySum.advance();
      } else {
        p.addQuerySums(dq, sequence, row, columns);
      }
    }
    at.product.advance();
    numberRing.release(at.number);
    at.number.advance();
    if (!p.isOrdered())
      return;
    addedRing.acquire(at.added);
    addedRing.publish(at.added);
    at.added.advance();
    turnRing.release(at.turn);
    at.turn.advance();
  }

  Shared slopes; ///< weights, times the slope of the cap, if there is one
  Ring slopeRing;
  NamedBarrier haveRead; ///< K and V, which gradients then replace
};

} // namespace

void narrowKeyTiles(Scope &k, const BackwardConfig &config, const BackwardArguments &arguments,
                    const TileScheduler &scheduler) {
  NarrowTiles(k, config, arguments, scheduler);
}

} // namespace tlc::kernels
