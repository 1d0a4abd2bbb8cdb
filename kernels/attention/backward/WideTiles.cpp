// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule of attention backward for tiles of 128 keys: who computes what, and what runs under what.
#include "kernels/attention/backward/BackwardRoles.h"
#include "kernels/attention/backward/ExplicitBackward.h"
#include "runtime/target/Hardware.h"

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
        queryPolicy(c.bq < 2 * wgmmaRows ? WarpPolicy::fullColumn : WarpPolicy::fullRow) {
    k.roles([&] {
      declareMemoryRoles();
      k.role("math", {.warps = rowUsers * warpsPerWarpgroup}, [&] { compute(); });
    });
  }

private:
  /// What a role that computes carries from step to step.
  struct Sums {
    Cursor kv, q, out, number, product;
    Cursor nextQ, nextNumber; ///< one tile later
    Cursor turn, added;       ///< if dQ is added in order
    Cursor querySum;          ///< if the TMA adds it
    Fragment ofKeys = {}, ofValues = {};
    Fragment scores = {};
    Fragment weights = {}, gradients = {}; ///< of scores, as left factors
  };
  /// Waits for the next tile of queries and returns its exponents, if there are registers for them. Not under
  /// the reduction of dQ, which keeps loads of shared memory waiting.
  std::optional<Fragment> awaitQueries(const Sums &sums) const {
    qRing.wait(sums.nextQ);
    numberRing.wait(sums.nextNumber);
    bool hasRegisters = c.bq <= wgmmaRows;
    return hasRegisters ? std::optional(numbersIn(exponents.slot(sums.nextNumber))) : std::nullopt;
  }

  void startScores(Sums &sums) const {
    sums.scores = 0;
    gemmAsync(ks.slot(sums.kv), qs.slot(sums.nextQ).t(), sums.scores);
    sums.nextQ.advance();
  }

  /// The weights of the scores that were started last, before `pending` other products.
  Fragment makeWeights(Sums &sums, const Visits &visits, const std::optional<Fragment> &early,
                       const Edge &edge, int64_t pending) const {
    gemmWait(sums.scores, pending);
    Index row = rowAt(sums.nextNumber);
    FragmentValue scores = p.scores.of(sums.scores, p.scores.scale());
    Fragment exponent = early ? *early : numbersIn(exponents.slot(sums.nextNumber));
    return p.weights(seen(visits, row, scores, edge), exponent);
  }

  /// The gradients of the scores that were started last.
  void makeGradients(Sums &sums, const Visits &visits, const std::optional<Fragment> &early,
                     const Edge &edge) const {
    Fragment dp = startWeightGradients(sums);
    Fragment weights = makeWeights(sums, visits, early, edge, 1);
    makeGradients(sums, weights, dp);
  }
  Fragment startWeightGradients(Sums &sums) const {
    Fragment dp = k.fragment(f32, {c.bk, c.bq}).named("dp");
    doRing.wait(sums.out);
    gemmAsync(vs.slot(sums.kv), dos.slot(sums.out).t(), dp);
    return dp;
  }
  void makeGradients(Sums &sums, Fragment &weights, Fragment &dp) const {
    ElementType dtype = c.problem.dtype;
    gemmWait(dp);
    FragmentValue scores = p.scores.of(sums.scores, p.scores.scale());
    FragmentValue delta = numbersIn(deltas.slot(sums.nextNumber)); // not before: registers are few
    sums.gradients = p.gradients(weights, dp, scores, delta).to(dtype);
    sums.weights = weights.to(dtype);
    sums.nextNumber.advance();
  }

  /// Hands them to the other warpgroup.
  void publishGradients(const Sums &sums) const {
    productRing.acquire(sums.product);
    copy(sums.gradients, products.slot(sums.product));
    productRing.publish(sums.product);
  }

  /// Adds up what the gradients of scores give. The product for dK is left in flight.
  void useGradients(Sums &sums, const Visits &visits, const std::function<void()> &beforeSum = [] {}) const {
    Index row = p.addsByTma() ? Index(0) : rowAt(sums.number); // the role that has it added knows it
    gemmAsync(sums.weights, dos.slot(sums.out), sums.ofValues);
    if (hasQuerySums)
      publishGradients(sums); // under the product
    numberRing.release(sums.number);
    sums.number.advance();
    Fragment dq = hasQuerySums ? k.fragment(f32, {c.bq, d}).named("dq") : Fragment();
    if (hasQuerySums) {
      productRing.wait(sums.product);
      gemmAsync(products.slot(sums.product).t(), ks.slot(sums.kv), dq, queryPolicy);
      gemmWait(sums.ofValues, 1);
      doRing.release(sums.out);
    }
    gemmAsync(sums.gradients, qs.slot(sums.q), sums.ofKeys);
    beforeSum(); // dQ is awaited then
    if (hasQuerySums) {
      gemmWait(dq, 1);
      addQuerySums(sums, visits, dq, row);
    } else {
      gemmWait(sums.ofValues, 1);
      doRing.release(sums.out);
    }
    sums.out.advance();
  }

  void addQuerySums(Sums &sums, const Visits &visits, const Fragment &dq, const Index &row) const {
    auto add = [&] { p.addQuerySums(dq, visits.sequence, row, {0, d}); };
    if (p.addsByTma()) {
      querySumRing.acquire(sums.querySum);
      copy(dq, querySums.slot(sums.querySum));
      querySumRing.publish(sums.querySum);
      sums.querySum.advance();
      return;
    }
    if (!p.isOrdered())
      return add();
    turnRing.wait(sums.turn);
    add();
    addedRing.acquire(sums.added);
    addedRing.publish(sums.added);
    sums.added.advance();
    turnRing.release(sums.turn);
    sums.turn.advance();
  }

  /// Once at most `pending` products are in flight, which are younger than that for dK.
  void releaseGradients(Sums &sums, int64_t pending) const {
    gemmWait(sums.ofKeys, pending);
    if (hasQuerySums) {
      productRing.release(sums.product);
      sums.product.advance();
    }
    qRing.release(sums.q);
    sums.q.advance();
  }

  void visit(Sums &sums, const Visits &visits) const {
    auto step = [&](const Edge &edge) {
      std::optional<Fragment> exponent;
      useGradients(sums, visits, [&] { exponent = awaitQueries(sums); });
      startScores(sums);
      releaseGradients(sums, 1);
      makeGradients(sums, visits, exponent, edge);
    };
    const VisitedTiles &tiles = visits.tiles;
    k.when(tiles.count > 0, [&] {
      std::optional<Fragment> exponent = awaitQueries(sums);
      startScores(sums);
      makeGradients(sums, visits, exponent,
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
    Sums sums{.kv = kvRing.cursor(),
              .q = qRing.cursor(),
              .out = doRing.cursor(),
              .number = numberRing.cursor(),
              .product = hasQuerySums ? productRing.cursor() : Cursor(),
              .nextQ = qRing.cursor(),
              .nextNumber = numberRing.cursor(),
              .turn = p.isOrdered() ? turnRing.cursor() : Cursor(),
              .added = p.isOrdered() ? addedRing.cursor() : Cursor(),
              .querySum = p.addsByTma() ? querySumRing.cursor() : Cursor()};
    forEachTile([&](const GradientTile &tile) {
      sums.ofKeys = k.fragment(f32, {c.bk, d}).named("dk");
      sums.ofValues = k.fragment(f32, {c.bk, dv}).named("dv");
      sums.scores = k.fragment(f32, {c.bk, c.bq}).named("s");
      sums.weights = k.fragment(c.problem.dtype, {c.bk, c.bq}).named("p");
      sums.gradients = k.fragment(c.problem.dtype, {c.bk, c.bq}).named("ds");
      kvRing.wait(sums.kv);
      p.forEachHead(tile, [&](const Sequence &sequence) {
        visit(sums, {tile, sequence, p.queriesSeeing(tile, sequence)});
      });
      if (hasStore()) {
        copy(p.finished(p.ofValues, sums.ofValues), vs.slot(sums.kv));
        copy(p.finished(p.ofKeys, sums.ofKeys), ks.slot(sums.kv));
        sumRing.publish(sums.kv);
      } else {
        kvRing.release(sums.kv);
        p.store(p.ofValues, tile, sums.ofValues, {0, dv});
        p.store(p.ofKeys, tile, sums.ofKeys, {0, d});
      }
      sums.kv.advance();
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
