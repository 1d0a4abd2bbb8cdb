// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule of attention backward: which role does what, and what runs under what.
#include "kernels/attention/backward/ExplicitBackward.h"

#include "kernels/roles/TakenTiles.h"
#include "runtime/target/Hardware.h"

#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Rows in shared memory, or their sums in registers, in parts of columns.
template <class Part> struct InParts {
  std::vector<ColumnRange> columns;
  std::vector<Part> parts;

  size_t count() const { return parts.size(); }
};
using RowTile = InParts<Shared>;
using RowSum = InParts<Fragment>;

int64_t slotBytes(const RowTile &tile) {
  int64_t bytes = 0;
  for (const Shared &part : tile.parts)
    bytes += part.slotBytes();
  return bytes;
}

/// One role loads tiles, one loads the numbers of their rows, one computes. A step has the gradients of
/// scores of one tile of queries, and makes those of the next:
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
class Schedule {
public:
  Schedule(Scope &k, const BackwardConfig &c, const BackwardArguments &p, const TileScheduler &scheduler)
      : k(k), c(c), p(p), scheduler(scheduler), block(p.numberOfBlock(scheduler)), d(paddedRow(c.problem.d)),
        dv(paddedRow(c.problem.dv)), sharesColumns(kernels::sharesColumns(c)),
        hasQuerySums(addsQuerySums(c.dq)), sharesProducts(hasQuerySums || sharesColumns),
        policy(sharesColumns ? WarpPolicy::fullColumn : WarpPolicy::fullRow),
        queryPolicy(c.bq < 2 * wgmmaRows ? WarpPolicy::fullColumn : WarpPolicy::fullRow) {
    ElementType dtype = c.problem.dtype;
    ks = tileOfRows("k", c.bk, d, c.slots.keys);
    vs = tileOfRows("v", c.bk, dv, c.slots.keys);
    qs = tileOfRows("q", c.bq, d, c.stages);
    dos = tileOfRows("do", c.bq, dv, c.slots.outputs);
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
    if (p.addsByTma()) {
      querySums = k.shared("dq", f32, {c.bq, d}, {.slots = querySumSlots});
      querySumRing = k.ring("dq", {.slots = querySumSlots, .producers = warpgroups, .consumers = 1});
    }
    staging = p.keySumStaging();
    if (p.takesTiles()) {
      // All roles but the one that takes them.
      int64_t users = 1 + (hasStore() ? 1 : 0) + (p.addsByTma() ? 1 : 0) + warpgroups;
      taken.emplace(k, takenTileSlots, users);
    }
    if (p.isOrdered()) {
      constexpr int64_t slots = 2; // turns are awaited, and announced, beside the next step
      turnRing = ring("turns", slots);
      addedRing = k.ring("added", {.slots = slots, .producers = warpgroups, .consumers = 1});
    }
    k.roles([&] {
      // The roles that do not compute fill a warpgroup, whose registers go to those that do.
      constexpr int64_t spare = 24;
      bool isOrdered = p.isOrdered(), hasThird = hasStore() || isOrdered,
           hasFourth = isOrdered || p.addsByTma();
      k.role("numbers", {.warps = 1, .registers = spare}, [&] { loadNumbers(); });
      k.role("load", {.warps = hasThird ? 1 : hasFourth ? 2 : 3, .registers = spare}, [&] { load(); });
      if (hasThird)
        k.role("store", {.warps = hasFourth ? 1 : 2, .registers = spare}, [&] { store(); });
      if (isOrdered)
        k.role("turns", {.warps = 1, .registers = spare}, [&] { awaitTurns(); });
      if (p.addsByTma())
        k.role("sums", {.warps = 1, .registers = spare}, [&] { sumQueries(); });
      k.role("math", {.warps = warpgroups * warpsPerWarpgroup}, [&] { compute(); });
    });
  }

private:
  RowTile tileOfRows(const char *name, int64_t rows, int64_t length, int64_t slots) const {
    RowTile tile{gradientParts(length), {}};
    for (const ColumnRange &columns : tile.columns)
      tile.parts.push_back(k.shared(name, c.problem.dtype, {rows, columns.count}, {.slots = slots}));
    return tile;
  }
  RowSum sumOfRows(const char *name, int64_t rows, int64_t length) const {
    RowSum sum{gradientParts(length), {}};
    for (const ColumnRange &columns : sum.columns)
      sum.parts.push_back(k.fragment(f32, {rows, columns.count}).named(name));
    return sum;
  }

  /// Whether dK and dV leave through the memory of K and V.
  bool hasStore() const { return c.gradients == GradientType::same && c.dkv == KeySum::loop; }

  /// One role says which tiles come next, if blocks take them.
  enum class TileUse : uint8_t { takes, follows };

  void forEachTile(const std::function<void(const GradientTile &)> &body) const {
    forEachTile(TileUse::follows, body);
  }
  void forEachTile(TileUse use, const std::function<void(const GradientTile &)> &body) const {
    auto visit = [&](const TilePlace &place) {
      body(p.tileAt(Axis::keys, p.inputs.sequences.fieldsOf(Axis::keys, place)));
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
      kvRing.expect(kv, slotBytes(ks) + slotBytes(vs));
      for (size_t i = 0; i < ks.count(); ++i)
        copy(p.keys(tile.sequence, tile.row, tile.kvHead, c.bk, ks.columns[i]), ks.parts[i].slot(kv),
             kvRing.full(kv));
      for (size_t i = 0; i < vs.count(); ++i)
        copy(p.values(tile.sequence, tile.row, tile.kvHead, c.bk, vs.columns[i]), vs.parts[i].slot(kv),
             kvRing.full(kv));
      kv.advance();
      forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
        qRing.acquire(q);
        qRing.expect(q, slotBytes(qs));
        for (size_t i = 0; i < qs.count(); ++i)
          copy(p.queries(sequence, row, c.bq, qs.columns[i]), qs.parts[i].slot(q), qRing.full(q));
        q.advance();
        doRing.acquire(out);
        doRing.expect(out, slotBytes(dos));
        for (size_t i = 0; i < dos.count(); ++i)
          copy(p.outputGradients(sequence, row, c.bq, dos.columns[i]), dos.parts[i].slot(out),
               doRing.full(out));
        out.advance();
      });
    });
  }

  void loadNumbers() {
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
  void store() {
    Cursor kv = hasStore() ? kvRing.cursor() : Cursor(),
           added = p.isOrdered() ? addedRing.cursor() : Cursor();
    forEachTile([&](const GradientTile &tile) {
      if (p.isOrdered())
        p.forEachHead(tile, [&](const Sequence &sequence) { announceTurns(tile, sequence, added); });
      if (!hasStore())
        return;
      sumRing.wait(kv);
      for (size_t i = 0; i < vs.count(); ++i)
        copy(vs.parts[i].slot(kv), p.results(p.ofValues, tile, vs.columns[i]));
      for (size_t i = 0; i < ks.count(); ++i)
        copy(ks.parts[i].slot(kv), p.results(p.ofKeys, tile, ks.columns[i]));
      kvRing.release(kv);
      kv.advance();
    });
  }

  /// Adds tiles of dQ that those who compute have left.
  void sumQueries() {
    Cursor sum = querySumRing.cursor();
    forEachTile([&](const GradientTile &tile) {
      forEachVisit(tile, [&](const Sequence &sequence, const Index &row) {
        querySumRing.wait(sum);
        atomicAdd(querySums.slot(sum), p.querySums(sequence, row, {0, d}));
        querySumRing.release(sum);
        sum.advance();
      });
    });
  }

  void announceTurns(const GradientTile &tile, const Sequence &sequence, Cursor &added) const {
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

  void awaitTurns() {
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

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  /// Whether a tile is masked; if it is known on the device only, when.
  using Edge = std::variant<bool, std::function<Predicate()>>;

  /// What a role that computes carries from step to step.
  struct Sums {
    Cursor kv, q, out, number, product;
    Cursor nextQ, nextNumber; ///< one tile later
    Cursor turn, added;       ///< if dQ is added in order
    Cursor querySum;          ///< if the TMA adds it
    RowSum ofKeys = {}, ofValues = {};
    Fragment scores = {};
    Fragment weights = {}, gradients = {}; ///< of scores, as left factors
  };
  /// The tiles of queries that one head of a tile of keys visits.
  struct Visits {
    const GradientTile &keys;
    const Sequence &sequence;
    VisitedTiles tiles;
  };

  /// Waits for the next tile of queries and returns its exponents, if there are registers for them. Not under
  /// the reduction of dQ, which keeps loads of shared memory waiting.
  std::optional<Fragment> awaitQueries(const Sums &sums) const {
    qRing.wait(sums.nextQ);
    numberRing.wait(sums.nextNumber);
    bool hasRegisters = c.bq <= wgmmaRows;
    return hasRegisters ? std::optional(numbersIn(exponents.slot(sums.nextNumber))) : std::nullopt;
  }

  // Products, and how many of them a tile in parts makes.

  /// Starts rows of `a` times rows of `b`, summed up over their columns.
  void startOverColumns(const RowTile &a, const Cursor &ofA, const RowTile &b, const Cursor &ofB,
                        Fragment &sum) const {
    for (size_t i = 0; i < a.count(); ++i)
      gemmAsync(a.parts[i].slot(ofA), b.parts[i].slot(ofB).t(), sum, policy);
  }
  /// Starts `factor` times rows, for each part of their columns.
  template <class Factor>
  void startOverRows(const Factor &factor, const RowTile &rows, const Cursor &at, RowSum &sum,
                     WarpPolicy policy) const {
    for (size_t i = 0; i < rows.count(); ++i)
      gemmAsync(factor, rows.parts[i].slot(at), sum.parts[i], policy);
  }
  void waitFor(RowSum &sum, size_t pending) const {
    for (Fragment &part : sum.parts)
      gemmWait(part, int64_t(pending));
  }

  void startScores(Sums &sums) const {
    sums.scores = 0;
    startOverColumns(ks, sums.kv, qs, sums.nextQ, sums.scores);
    sums.nextQ.advance();
  }

  Fragment numbersIn(const Shared &slot) const {
    Fragment numbers = k.fragment(f32, {1, c.bq});
    copy(slot, numbers);
    return numbers;
  }

  FragmentValue seen(const Visits &visits, const Index &row, const FragmentValue &scores,
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

  /// The weights of the scores that were started last, before `pending` other products.
  Fragment makeWeights(Sums &sums, const Visits &visits, const std::optional<Fragment> &early,
                       const Edge &edge, size_t pending) const {
    gemmWait(sums.scores, int64_t(pending));
    Index row = rowAt(sums.nextNumber);
    FragmentValue scores = p.scores.of(sums.scores, p.scores.scale());
    Fragment exponent = early ? *early : numbersIn(exponents.slot(sums.nextNumber));
    return p.weights(seen(visits, row, scores, edge), exponent);
  }

  /// The gradients of the scores that were started last.
  void makeGradients(Sums &sums, const Visits &visits, const std::optional<Fragment> &early,
                     const Edge &edge) const {
    Fragment dp = startWeightGradients(sums);
    Fragment weights = makeWeights(sums, visits, early, edge, dos.count());
    makeGradients(sums, weights, dp);
  }
  Fragment startWeightGradients(Sums &sums) const {
    Fragment dp = k.fragment(f32, {c.bk, c.bq}).named("dp");
    doRing.wait(sums.out);
    startOverColumns(vs, sums.kv, dos, sums.out, dp);
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

  /// The first query of the tile, computed by those with registers left.
  Index rowAt(const Cursor &number) const { return tileNumbers.slot(number).read({0}) * c.bq; }

  /// Hands them to the other warpgroup, and the weights, if it needs them.
  void publishGradients(const Sums &sums) const {
    productRing.acquire(sums.product);
    copy(sums.gradients, products.slot(sums.product));
    if (sharesColumns)
      copy(sums.weights, weightTiles.slot(sums.product));
    productRing.publish(sums.product);
  }

  /// Adds up what the gradients of scores give. The product for dK is left in flight.
  void useGradients(Sums &sums, const Visits &visits, const std::function<void()> &beforeSum = [] {}) const {
    Index row = p.addsByTma() ? Index(0) : rowAt(sums.number); // the role that has it added knows it
    if (!sharesColumns)
      startOverRows(sums.weights, dos, sums.out, sums.ofValues, WarpPolicy::fullRow);
    if (sharesProducts)
      publishGradients(sums); // under the product, where it can
    numberRing.release(sums.number);
    sums.number.advance();
    if (sharesColumns) {
      productRing.wait(sums.product);
      startOverRows(weightTiles.slot(sums.product), dos, sums.out, sums.ofValues, policy);
    }
    RowSum dq = hasQuerySums ? sumOfRows("dq", c.bq, d) : RowSum();
    if (hasQuerySums) {
      if (!sharesColumns)
        productRing.wait(sums.product);
      startOverRows(products.slot(sums.product).t(), ks, sums.kv, dq, queryPolicy);
      waitFor(sums.ofValues, dq.count());
      doRing.release(sums.out);
    }
    if (sharesColumns)
      startOverRows(products.slot(sums.product), qs, sums.q, sums.ofKeys, policy);
    else
      startOverRows(sums.gradients, qs, sums.q, sums.ofKeys, WarpPolicy::fullRow);
    beforeSum(); // dQ is awaited then
    if (hasQuerySums) {
      waitFor(dq, sums.ofKeys.count());
      addQuerySums(sums, visits, dq, row);
    } else {
      waitFor(sums.ofValues, sums.ofKeys.count());
      doRing.release(sums.out);
    }
    sums.out.advance();
  }

  void addQuerySums(Sums &sums, const Visits &visits, const RowSum &dq, const Index &row) const {
    auto add = [&] {
      for (size_t i = 0; i < dq.count(); ++i)
        p.addQuerySums(dq.parts[i], visits.sequence, row, dq.columns[i]);
    };
    if (p.addsByTma()) {
      querySumRing.acquire(sums.querySum);
      copy(dq.parts.front(), querySums.slot(sums.querySum)); // of rows that have one part
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
  void releaseGradients(Sums &sums, size_t pending) const {
    waitFor(sums.ofKeys, pending);
    if (sharesProducts) {
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
      releaseGradients(sums, ks.count());
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

  /// Leaves gradients of keys where these are.
  void finish(const GradientSum &gradient, const RowSum &sum, const RowTile &keys, const Cursor &at) const {
    for (size_t i = 0; i < sum.count(); ++i)
      copy(p.finished(gradient, sum.parts[i]), keys.parts[i].slot(at));
  }
  void store(const GradientSum &gradient, const GradientTile &tile, const RowSum &sum,
             const Shared &staging) const {
    for (size_t i = 0; i < sum.count(); ++i)
      p.store(gradient, tile, sum.parts[i], sum.columns[i], staging);
  }

  void compute() {
    Sums sums{.kv = kvRing.cursor(),
              .q = qRing.cursor(),
              .out = doRing.cursor(),
              .number = numberRing.cursor(),
              .product = sharesProducts ? productRing.cursor() : Cursor(),
              .nextQ = qRing.cursor(),
              .nextNumber = numberRing.cursor(),
              .turn = p.isOrdered() ? turnRing.cursor() : Cursor(),
              .added = p.isOrdered() ? addedRing.cursor() : Cursor(),
              .querySum = p.addsByTma() ? querySumRing.cursor() : Cursor()};
    forEachTile([&](const GradientTile &tile) {
      sums.ofKeys = sumOfRows("dk", c.bk, d);
      sums.ofValues = sumOfRows("dv", c.bk, dv);
      sums.scores = k.fragment(f32, {c.bk, c.bq}).named("s");
      sums.weights = k.fragment(c.problem.dtype, {c.bk, c.bq}).named("p");
      sums.gradients = k.fragment(c.problem.dtype, {c.bk, c.bq}).named("ds");
      kvRing.wait(sums.kv);
      p.forEachHead(tile, [&](const Sequence &sequence) {
        visit(sums, {tile, sequence, p.queriesSeeing(tile, sequence)});
      });
      if (hasStore()) {
        finish(p.ofValues, sums.ofValues, vs, sums.kv);
        finish(p.ofKeys, sums.ofKeys, ks, sums.kv);
        sumRing.publish(sums.kv);
      } else {
        kvRing.release(sums.kv);
        store(p.ofValues, tile, sums.ofValues, staging.ofValues);
        store(p.ofKeys, tile, sums.ofKeys, staging.ofKeys);
      }
      sums.kv.advance();
    });
  }

  Scope &k;
  const BackwardConfig &c;
  const BackwardArguments &p;
  const TileScheduler &scheduler;
  Index block;
  int64_t d, dv;
  static constexpr int64_t warpgroups = 2; ///< that compute
  bool sharesColumns;
  bool hasQuerySums;
  bool sharesProducts;            ///< whether they go through shared memory
  WarpPolicy policy, queryPolicy; ///< of gradients of keys and of queries
  RowTile ks, vs, qs, dos;
  Shared exponents, deltas, tileNumbers, products, weightTiles;
  Shared querySums; ///< tiles of dQ that the TMA adds
  BackwardArguments::Staging staging;
  std::optional<TakenTiles> taken; ///< if blocks take tiles
  Ring kvRing, sumRing, qRing, doRing, numberRing, productRing, turnRing, addedRing, querySumRing;
};

} // namespace

void explicitKeyTiles(Scope &k, const BackwardConfig &config, const BackwardArguments &arguments,
                      const TileScheduler &scheduler) {
  Schedule(k, config, arguments, scheduler);
}

} // namespace tlc::kernels
