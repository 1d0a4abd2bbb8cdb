// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule of attention backward for tiles of 128 keys: who computes what, and what runs under what.
#include "kernels/attention/backward/BackwardRoles.h"
#include "kernels/attention/backward/ExplicitBackward.h"
#include "kernels/roles/MathRole.h"

#include <functional>
#include <optional>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// One role computes, whose two warpgroups have 64 keys each. A step has the gradients of scores of one tile
/// of queries, and makes those of the next:
///
///     dV, under which the gradients go to the other warpgroup; dQ, which leaves under dK; the next scores;
///     their weights under dO Vᵀ; the next gradients of scores.
///
/// dQ leaves before the next scores are started: a warp that starts a product waits until the matrix unit
/// takes it, which is after dK. No product is in flight when a step ends: ptxas would let each finish before
/// it starts another.
///
/// Scores have keys as rows, so that weights and gradients are left factors of dV and dK in registers. dQ
/// needs gradients of all rows: they go through shared memory.
class WideTiles : BackwardRoles {
public:
  WideTiles(Scope &k, const BackwardConfig &c, const BackwardArguments &p, const TileScheduler &scheduler)
      : BackwardRoles(k, c, p, scheduler, {.columns = paddedRow(c.problem.d), .slots = querySumSlots}),
        queryPolicy(c.bq < 2 * rowsOfMathWarpgroup ? WarpPolicy::fullColumn : WarpPolicy::fullRow) {
    k.roles([&] {
      declareMemoryRoles();
      k.role("math", {.warps = rowUsers * warpsPerWarpgroup}, [&] { compute(); });
    });
  }

private:
  /// What a role that computes carries from step to step.
  struct Sums {
    Slot kv = {};
    Fragment ofKeys = {}, ofValues = {};
    Fragment scores = {};
    Fragment weights = {}, gradients = {}; ///< of scores, as left factors
  };
  /// The next tile of queries, with its exponents if there are registers for them.
  struct Queries {
    Slot rows, numbers;
    std::optional<Fragment> exponent = {};
  };
  /// Not under the reduction of dQ, which keeps loads of shared memory waiting.
  Queries awaitQueries() const {
    Queries queries{.rows = q.get(), .numbers = numbers.get()};
    if (c.bq <= rowsOfMathWarpgroup)
      queries.exponent = numbersIn(exponents.slot(queries.numbers));
    return queries;
  }

  void startScores(Sums &sums, const Queries &queries) const {
    sums.scores = 0;
    gemmAsync(ks.slot(sums.kv), qs.slot(queries.rows).t(), sums.scores);
  }

  /// The weights of the scores that were started last, before `pending` other products.
  Fragment makeWeights(Sums &sums, const Visits &visits, const Queries &queries, const Edge &edge,
                       int64_t pending) const {
    gemmWait(sums.scores, pending);
    Index row = rowAt(queries.numbers);
    FragmentValue scores = p.scores.of(sums.scores, p.scores.scale());
    Fragment exponent = queries.exponent ? *queries.exponent : numbersIn(exponents.slot(queries.numbers));
    return p.weights(seen(visits, row, scores, edge), exponent);
  }

  /// The gradients of the scores that were started last.
  void makeGradients(Sums &sums, const Visits &visits, const Queries &queries, const Edge &edge) const {
    Fragment dp = startWeightGradients(sums);
    Fragment weights = makeWeights(sums, visits, queries, edge, 1);
    makeGradients(sums, weights, dp, queries);
  }
  Fragment startWeightGradients(Sums &sums) const {
    Fragment dp = k.fragment(f32, {c.bk, c.bq}).named("dp");
    gemmAsync(vs.slot(sums.kv), dos.slot(out.get()).t(), dp);
    return dp;
  }
  void makeGradients(Sums &sums, Fragment &weights, Fragment &dp, const Queries &queries) const {
    ElementType dtype = c.problem.dtype;
    gemmWait(dp);
    FragmentValue scores = p.scores.of(sums.scores, p.scores.scale());
    FragmentValue delta = numbersIn(deltas.slot(queries.numbers)); // not before: registers are few
    sums.gradients = p.gradients(weights, dp, scores, delta).to(dtype);
    sums.weights = weights.to(dtype);
  }

  /// Adds up what the gradients of scores give. The product for dK is left in flight.
  void useGradients(Sums &sums, const Visits &visits, const std::function<void()> &beforeSum = [] {}) const {
    Index row = p.addsByTma() ? Index(0) : rowAt(numbers.oldest()); // the role that has it added knows it
    gemmAsync(sums.weights, dos.slot(out.oldest()), sums.ofValues);
    if (hasQuerySums) // to the other warpgroup, under the product
      scoreGradients.put([&](const Slot &at) { copy(sums.gradients, products.slot(at)); });
    numbers.release();
    Fragment dq = hasQuerySums ? k.fragment(f32, {c.bq, d}).named("dq") : Fragment();
    if (hasQuerySums) {
      gemmAsync(products.slot(scoreGradients.get()).t(), ks.slot(sums.kv), dq, queryPolicy);
      gemmWait(sums.ofValues, 1);
      out.release();
    }
    gemmAsync(sums.gradients, qs.slot(q.oldest()), sums.ofKeys);
    beforeSum(); // dQ is awaited then
    if (hasQuerySums) {
      gemmWait(dq, 1);
      addQuerySums(visits, dq, row);
    } else {
      gemmWait(sums.ofValues, 1);
      out.release();
    }
  }

  void addQuerySums(const Visits &visits, const Fragment &dq, const Index &row) const {
    auto add = [&] { p.addQuerySums(dq, visits.sequence, row, {0, d}); };
    if (p.addsByTma()) {
      querySumTiles.put([&](const Slot &at) { copy(dq, querySums.slot(at)); });
      return;
    }
    if (!p.isOrdered())
      return add();
    turns.get();
    add();
    added.put();
    turns.release();
  }

  /// Once at most `pending` products are in flight, which are younger than that for dK.
  void releaseGradients(Sums &sums, int64_t pending) const {
    gemmWait(sums.ofKeys, pending);
    if (hasQuerySums)
      scoreGradients.release();
    q.release();
  }

  void visit(Sums &sums, const Visits &visits) const {
    auto step = [&](const Edge &edge) {
      Queries next;
      useGradients(sums, visits, [&] { next = awaitQueries(); });
      startScores(sums, next);
      releaseGradients(sums, 1);
      makeGradients(sums, visits, next, edge);
    };
    const VisitedTiles &tiles = visits.tiles;
    k.when(tiles.count > 0, [&] {
      Queries first = awaitQueries();
      startScores(sums, first);
      makeGradients(sums, visits, first,
                    [&] { return p.isOrdered() ? tiles.isPartial(0) : tiles.partial > 0; });
      if (p.isOrdered()) {
        k.loop({1, tiles.count}, [&](Index i) { step([&] { return tiles.isPartial(i); }); });
      } else {
        k.loop({1, tiles.partial}, [&](Index) { step(true); });
        k.loop({max(tiles.partial, 1), tiles.count}, [&](Index) { step(false); });
      }
      useGradients(sums, visits);
      releaseGradients(sums, 0);
    });
  }

  void compute() {
    Sums sums;
    forEachTile([&](const GradientTile &tile) {
      sums.ofKeys = k.fragment(f32, {c.bk, d}).named("dk");
      sums.ofValues = k.fragment(f32, {c.bk, dv}).named("dv");
      sums.scores = k.fragment(f32, {c.bk, c.bq}).named("s");
      sums.weights = k.fragment(c.problem.dtype, {c.bk, c.bq}).named("p");
      sums.gradients = k.fragment(c.problem.dtype, {c.bk, c.bq}).named("ds");
      sums.kv = kv.get();
      p.forEachHead(tile, [&](const Sequence &sequence) {
        visit(sums, {tile, sequence, p.queriesSeeing(tile, sequence)});
      });
      if (hasStore()) {
        keySums.put([&](const Slot &at) {
          copy(p.finished(p.ofValues, sums.ofValues), vs.slot(at));
          copy(p.finished(p.ofKeys, sums.ofKeys), ks.slot(at));
        });
        kv.pass();
      } else {
        kv.release();
        p.store(p.ofValues, tile, sums.ofValues, {0, dv});
        p.store(p.ofKeys, tile, sums.ofKeys, {0, d});
      }
    });
  }

  WarpPolicy queryPolicy; ///< of dQ
};

} // namespace

void wideKeyTiles(Scope &k, const BackwardConfig &config, const BackwardArguments &arguments,
                  const TileScheduler &scheduler) {
  WideTiles(k, config, arguments, scheduler);
}

} // namespace tlc::kernels
