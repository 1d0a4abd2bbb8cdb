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
    handedSlopes = k.channel("p", {.slots = 1});
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
    Slot kv = {};
    RowSum ofRows = {};
    Fragment scores = {};  ///< or dO Vᵀ
    Fragment weights = {}; ///< as a left factor
  };

  //===--------------------------------------------------------------------===//
  // Weights and dV
  //===--------------------------------------------------------------------===//

  void computeWeights() {
    Sums sums;
    forEachTile([&](const GradientTile &tile) {
      sums.ofRows = sumOfRows("dv", dv);
      sums.scores = k.fragment(f32, {c.bk, c.bq}).named("s");
      sums.weights = k.fragment(c.problem.dtype, {c.bk, c.bq}).named("p");
      sums.kv = kv.get();
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
    gemmAsync(ks.slot(sums.kv), qs.slot(q.get()).t(), sums.scores);
  }
  /// Of the scores that were started last; hands them over, too.
  void makeWeights(Sums &sums, const Visits &visits, const Edge &edge) const {
    Slot number = numbers.get();
    Fragment exponent = numbersIn(exponents.slot(number));
    Index row = rowAt(number);
    gemmWait(sums.scores);
    q.release();
    FragmentValue scores = p.scores.of(sums.scores, p.scores.scale());
    Fragment weights = p.weights(seen(visits, row, scores, edge), exponent);
    sums.weights = weights.to(c.problem.dtype);
    handedSlopes.put(
        [&](const Slot &at) { copy(p.slopes(weights, scores).to(c.problem.dtype), slopes.slot(at)); });
  }
  void startValues(Sums &sums) const { startRows(sums.weights, dos.slot(out.get()), sums.ofRows); }
  void finishValues(Sums &sums, int64_t pending) const {
    waitFor(sums.ofRows, pending);
    out.release();
  }

  //===--------------------------------------------------------------------===//
  // Gradients of scores and dK
  //===--------------------------------------------------------------------===//

  void computeGradients() {
    Sums sums;
    forEachTile([&](const GradientTile &tile) {
      sums.ofRows = sumOfRows("dk", d);
      sums.scores = k.fragment(f32, {c.bk, c.bq}).named("dp");
      sums.kv = kv.get();
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
    gemmAsync(vs.slot(sums.kv), dos.slot(out.get()).t(), sums.scores);
  }
  void finishWeightGradients(Sums &sums) const {
    gemmWait(sums.scores);
    out.release();
  }

  void useGradients(Sums &sums, bool hasNext) const {
    ElementType dtype = c.problem.dtype;
    Fragment delta = numbersIn(deltas.slot(numbers.get()));
    Fragment slope = k.fragment(dtype, {c.bk, c.bq});
    copy(slopes.slot(handedSlopes.get()), slope);
    handedSlopes.release();
    if (!hasQuerySums)
      numbers.release();
    Fragment gradients = (slope.to(f32) * (sums.scores - delta)).to(dtype);
    if (hasQuerySums)
      scoreGradients.put([&](const Slot &at) { copy(gradients, products.slot(at)); });
    startRows(gradients, qs.slot(q.get()), sums.ofRows);
    if (hasNext)
      startWeightGradients(sums);
    waitFor(sums.ofRows, hasNext ? 1 : 0);
    q.release();
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
      keySums.put([&](const Slot &at) {
        for (size_t i = 0; i < sum.parts.size(); ++i)
          copy(p.finished(gradient, sum.parts[i]), columnsOf(rows.slot(at), sum, i));
      });
      kv.pass();
    } else {
      kv.release();
      for (size_t i = 0; i < sum.parts.size(); ++i)
        p.store(gradient, tile, sum.parts[i], sum.columns[i]);
    }
  }

  void sumUpQueries() {
    forEachTile([&](const GradientTile &tile) {
      Shared keys = ks.slot(kv.get());
      p.forEachHead(tile, [&](const Sequence &sequence) {
        k.loop(p.queriesSeeing(tile, sequence).count, [&](Index) { addQueries(keys, sequence); });
      });
      if (hasStore())
        haveRead.sync();
      else
        kv.release();
    });
  }

  /// A step's part of dQ, some columns at a time: this role has registers for no more.
  void addQueries(const Shared &keys, const Sequence &sequence) const {
    Index row = rowAt(numbers.get());
    Shared factor = products.slot(scoreGradients.get()).t();
    if (p.isOrdered())
      turns.get();
    for (int64_t first = 0; first < d; first += narrowQuerySumColumns) {
      ColumnRange columns = {first, narrowQuerySumColumns};
      Fragment dq = k.fragment(f32, {c.bq, columns.count}).named("dq");
      gemmAsync(factor, columns.count == d ? keys : keys.columns(first, columns.count), dq);
      gemmWait(dq);
      if (first + columns.count == d)
        scoreGradients.release();
      if (p.addsByTma())
        querySumTiles.put([&](const Slot &at) { copy(dq, querySums.slot(at)); });
      else
        p.addQuerySums(dq, sequence, row, columns);
    }
    numbers.release();
    if (!p.isOrdered())
      return;
    added.put();
    turns.release();
  }

  Shared slopes; ///< weights, times the slope of the cap, if there is one
  Channel handedSlopes;
  NamedBarrier haveRead; ///< K and V, which gradients then replace
};

} // namespace

void narrowKeyTiles(Scope &k, const BackwardConfig &config, const BackwardArguments &arguments,
                    const TileScheduler &scheduler) {
  NarrowTiles(k, config, arguments, scheduler);
}

} // namespace tlc::kernels
