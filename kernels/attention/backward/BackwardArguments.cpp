// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arguments, tiles and arithmetic of attention backward.
#include "kernels/attention/backward/BackwardArguments.h"

#include "compiler/dsl/Counts.h"

#include <numbers>

namespace tlc::kernels {

using namespace dsl;
using std::numbers::log2e;

namespace {
constexpr std::string_view whyDisjoint = "a block works on a tile once";
} // namespace

BackwardArguments::BackwardArguments(Scope &k, const BackwardConfig &config, const MaskMaker &makeMask,
                                     TensorFacts facts)
    : config(config), k(k), inputs(k, config.problem, facts), scores(k, inputs), makeMask(makeMask) {
  const AttentionProblem &problem = config.problem;
  const Index &batches = inputs.sequences.count, &heads = inputs.heads, &kvHeads = inputs.kvHeads;
  const Index &sq = inputs.sequences.rows(Axis::queries), &sk = inputs.sequences.rows(Axis::keys);
  std::vector<Index> ofOutput = inputs.shapeOf({batches, sq, heads, problem.dv});
  std::optional<RankHeads> &exchange = inputs.exchange;
  O = exchange ? exchange->input("O", problem.dtype, Axis::queries, problem.dv)
               : k.input("O", problem.dtype, ofOutput, facts);
  if (exchange) {
    dO = exchange->input("dO", problem.dtype, Axis::queries, problem.dv, config.strideOfOutputGradient);
  } else if (config.strideOfOutputGradient == ElementStride::one) {
    dO = k.input("dO", problem.dtype, ofOutput, facts);
  } else {
    std::vector<Index> strided = ofOutput;
    strided.push_back(1);
    stridedGradient = k.input("dO", problem.dtype, strided, {.alignment = bytesOf(problem.dtype, 1)});
    dO = k.workspace("dO_rows", problem.dtype, ofOutput, {.alignment = 16});
  }
  LSE = exchange ? exchange->input("LSE", f32, Axis::queries, {})
                 : k.input("LSE", f32, inputs.shapeOf({batches, heads, sq}));
  if (inputs.ring)
    beginStep(0);
  else
    mask = makeMask({k, batches, sq, sk, heads});
  ElementType type = config.gradientType();
  double scale = problem.scoreScale();
  const Index &own = inputs.sequences.keysOfRank();
  auto result = [&](const char *name, Axis axis, int64_t length) {
    if (exchange)
      return exchange->output(name, type, axis, length);
    return k.output(name, type,
                    axis == Axis::queries ? inputs.shapeOf({batches, sq, heads, length})
                                          : inputs.shapeOf({batches, own, kvHeads, length}),
                    facts);
  };
  ofQueries = {Axis::queries, problem.d, scale, result("dQ", Axis::queries, problem.d)};
  ofKeys = {Axis::keys, problem.d, scale, result("dK", Axis::keys, problem.d)};
  ofValues = {Axis::keys, problem.dv, problem.keptFactor(), result("dV", Axis::keys, problem.dv)};
  if (inputs.shards) {
    ofKeys.terms.emplace(k, *inputs.shards, "dK_terms", ofKeys.result, problem.d, type, config.bk);
    ofValues.terms.emplace(k, *inputs.shards, "dV_terms", ofValues.result, problem.dv, type, config.bk);
  }
  if (inputs.ring) {
    ofKeys.ringTerms.emplace(k, *inputs.ring, "dK", ofKeys.result, problem.d, type);
    ofValues.ringTerms.emplace(k, *inputs.ring, "dV", ofValues.result, problem.dv, type);
  }
  if (problem.sink == AttentionSink::perHead)
    dSink = k.output("dSink", f32, {inputs.sinks});
  delta = k.workspace("delta", f32, inputs.shapeOf({batches, heads, sq}));
  // Packed sequences begin anywhere, so that their tiles are not whole pieces of an accumulator.
  TensorOrder order = inputs.sequences.isPacked() ? TensorOrder::natural : TensorOrder::accumulator;
  auto newShares = [&](const char *name, const GradientSum &gradient, const Index &ofHeads,
                       WorkspaceOptions options) {
    const Index &rows = inputs.sequences.rows(gradient.axis);
    return k.workspace(name, f32, inputs.shapeOf({batches, ofHeads, rows, gradient.length}), options);
  };
  if (addsQuerySums(config.dq))
    ofQueries.shares = newShares("dq_sum", ofQueries, heads, {Initial::undefined, order});
  const int64_t steps = inputs.ring ? inputs.ring->steps() : 1;
  if (isOrdered()) {
    started = k.workspace("started", i32, {steps}, {Initial::zero});
    passed = k.workspace("passed", i32, inputs.shapeOf({batches, heads, sk}), {Initial::zero});
  }
  if (takesTiles())
    taken = k.workspace("taken", i32, {steps}, {Initial::zero});
  if (config.dkv == KeySum::loop)
    return;
  bool isSplit = config.dkv == KeySum::split;
  for (auto [name, gradient] : {std::pair("dk_sum", &ofKeys), {"dv_sum", &ofValues}})
    gradient->shares = newShares(name, *gradient, isSplit ? heads : kvHeads,
                                 {isSplit ? Initial::undefined : Initial::zero, order});
}

void BackwardArguments::beginStep(int64_t step) {
  inputs.beginStep(step);
  mask = makeMask({k, inputs.sequences.count, inputs.sequences.rows(Axis::queries),
                   inputs.sequences.rows(Axis::keys), inputs.heads, inputs.ring->ownerAt(step)});
}

int64_t BackwardArguments::rowsOfTile(Axis axis) const {
  return axis == Axis::keys ? config.bk : queryTile(config).queries;
}

TileScheduler::Space BackwardArguments::tileSpace(Axis axis) const {
  const AttentionProblem &problem = config.problem;
  int64_t loaded = bytesOf(problem.dtype, problem.d + problem.dv);
  if (axis == Axis::queries)
    return {.axis = axis,
            .rowsOfTile = rowsOfTile(axis),
            .order = mask.order,
            .heads = inputs.heads,
            .kvHeads = inputs.kvHeads,
            .cachedRowBytes = loaded};
  // Heads of tiles of keys share no rows of the other axis.
  bool isForGroup = config.dkv == KeySum::loop;
  const Index &heads = isForGroup ? inputs.kvHeads : inputs.heads;
  int64_t added = addsQuerySums(config.dq) ? bytesOf(f32, problem.d) : 0;
  Index rowBytes = isForGroup ? (loaded + added) * group() : Index(loaded + added);
  return {.axis = axis,
          .rowsOfTile = config.bk,
          .order = mask.order,
          .heads = heads,
          .kvHeads = heads,
          .groups = HeadGroups::sums,
          .cachedRowBytes = rowBytes,
          .dealing = takesTiles() ? TileDealing::taken : TileDealing::fixed,
          .descends = isOrdered()};
}

GradientTile BackwardArguments::tileAt(Axis axis, const Sequences::Fields &fields) const {
  Sequence sequence = inputs.sequences.sequenceOf(fields);
  bool isForGroup = axis == Axis::keys && config.dkv == KeySum::loop;
  return {.row = Sequences::rowOf(fields),
          .kvHead = isForGroup ? sequence.head : sequence.head / group(),
          .sequence = sequence};
}

VisitedTiles BackwardArguments::queriesSeeing(const GradientTile &tile, const Sequence &sequence) const {
  VisitedTiles queries = mask.tilesOfQueries(sequence, tile.row, config.bk, config.bq);
  // Weights of keys that do not exist are no numbers if others are small enough.
  if (isOrdered())
    queries = queries.ascending();
  queries.partial = where(tile.row + config.bk > sequence.keys, queries.count, queries.partial);
  return queries;
}

bool BackwardArguments::skipsUnseenKeys() const {
  if (config.form != AttentionForm::explicitRoles)
    return false;
  if (config.dkv == KeySum::loop)
    return config.unseen == UnseenKeys::ownLaunch;
  return !isOrdered() && !(config.dkv == KeySum::split && inputs.sequences.isPacked());
}

Predicate BackwardArguments::isSeen(const GradientTile &keys) const {
  return queriesSeeing(keys, keys.sequence).count > 0;
}

void BackwardArguments::ifSeen(const GradientTile &keys, const std::function<void()> &seen,
                               const std::function<void()> &unseen) const {
  if (skipsUnseenKeys())
    return seen();
  if (config.dkv != KeySum::loop)
    return k.when(isSeen(keys), seen, unseen);
  Index heads = group();
  k.loopWhile(heads, [&](Index n) -> Predicate {
    GradientTile ofHead = keys;
    ofHead.sequence.head = keys.kvHead * heads + n;
    Predicate isUnseen = !isSeen(ofHead);
    k.when(isUnseen, [&] { k.when(n == heads - 1, unseen); }, seen);
    return isUnseen;
  });
}

VisitedTiles BackwardArguments::keysSeen(const GradientTile &tile, int64_t keysOfTile) const {
  return mask.tilesOfKeys(tile.sequence, tile.row, rowsOfTile(Axis::queries), keysOfTile);
}

void BackwardArguments::forEachHead(const GradientTile &keys,
                                    const std::function<void(const Sequence &)> &body) const {
  if (config.dkv != KeySum::loop)
    return body(keys.sequence);
  k.loop(group(), [&](Index n) {
    Sequence sequence = keys.sequence;
    sequence.head = keys.kvHead * group() + n;
    body(sequence);
  });
}

Slice BackwardArguments::rows(const Global &tensor, Axis axis, const Sequence &sequence, const Index &row,
                              int64_t count, const Index &head, const ColumnRange &columns) const {
  return inputs.ownRowsOf(tensor, axis, sequence, row, count, head, columns);
}

Slice BackwardArguments::queries(const Sequence &sequence, const Index &row, int64_t count,
                                 const ColumnRange &columns) const {
  return rows(inputs.Q, Axis::queries, sequence, row, count, sequence.head, columns);
}
Slice BackwardArguments::outputGradients(const Sequence &sequence, const Index &row, int64_t count,
                                         const ColumnRange &columns) const {
  return rows(dO, Axis::queries, sequence, row, count, sequence.head, columns);
}
Slice BackwardArguments::keys(const Sequence &sequence, const Index &row, const Index &kvHead, int64_t count,
                              const ColumnRange &columns) const {
  return rows(inputs.K, Axis::keys, sequence, row, count, kvHead, columns);
}
Slice BackwardArguments::values(const Sequence &sequence, const Index &row, const Index &kvHead,
                                int64_t count, const ColumnRange &columns) const {
  return rows(inputs.V, Axis::keys, sequence, row, count, kvHead, columns);
}

void BackwardArguments::forEachResult(const GradientSum &gradient, const GradientTile &tile,
                                      const ColumnRange &columns,
                                      const std::function<void(const Slice &)> &body) const {
  const Index &head = gradient.axis == Axis::keys ? tile.kvHead : tile.sequence.head;
  forEachResult(gradient, tile.sequence, tile.row, rowsOfTile(gradient.axis), head, columns,
                [&](const Slice &rows) { body(rows.disjoint(whyDisjoint)); });
}

void BackwardArguments::forEachResult(const GradientSum &gradient, const Sequence &sequence, const Index &row,
                                      int64_t count, const Index &head, const ColumnRange &columns,
                                      const std::function<void(const Slice &)> &body) const {
  if (gradient.ringTerms)
    return body(gradient.ringTerms->box(inputs.step, sequence.batch, head, row, count, columns));
  if (gradient.terms)
    return gradient.terms->forEachBox(sequence, head, row, count, columns, body);
  body(rows(gradient.result, gradient.axis, sequence, row, count, head, columns));
}

Slice BackwardArguments::shares(const GradientSum &gradient, const Sequence &sequence, const Index &head,
                                const Index &row, int64_t count, const ColumnRange &columns) const {
  auto [first, length] = columns;
  if (!inputs.sequences.isPacked())
    return gradient.shares.tile({sequence.batch, head, row, first}, {1, 1, count, length});
  if (gradient.axis == Axis::keys)
    return gradient.shares.tile({head, sequence.firstKey + row, first}, {1, count, length})
        .limited(1, sequence.firstKey + sequence.keys);
  // What rows after a sequence's last one get is 0.
  return gradient.shares.tile({head, sequence.firstQuery + row, first}, {1, count, length});
}

Slice BackwardArguments::querySums(const Sequence &sequence, const Index &row,
                                   const ColumnRange &columns) const {
  Slice sums = shares(ofQueries, sequence, sequence.head, row, config.bq, columns);
  if (!isOrdered())
    return sums;
  // Rows of the next sequence have other turns.
  if (inputs.sequences.isPacked())
    sums = sums.limited(1, sequence.firstQuery + sequence.queries);
  return sums.disjoint("a block visits a tile of queries once, and stores what it has loaded");
}

void BackwardArguments::addQuerySums(const Fragment &sum, const Sequence &sequence, const Index &row,
                                     const ColumnRange &columns) const {
  Slice sums = querySums(sequence, row, columns);
  if (!isOrdered())
    return atomicAdd(sum, sums);
  Fragment before = k.fragment(f32, sum.shape());
  copy(sums, before);
  copy(before + sum, sums);
}

namespace {
/// Of a sequence's first tile of keys, and the others.
std::vector<Index> turnAt(const Inputs &inputs, const Sequence &sequence, const Index &keyRow) {
  if (inputs.sequences.isPacked())
    return {sequence.head, sequence.firstKey + keyRow};
  return {sequence.batch, sequence.head, keyRow};
}
} // namespace

void BackwardArguments::awaitTurn(const Sequence &sequence, const Index &keyRow, const Index &ofStep) const {
  // Blocks have the padding's tiles of keys, too.
  const Index &keys = inputs.sequences.isPacked() ? sequence.keys : inputs.sequences.rows(Axis::keys);
  Index before = keyRow + config.bk, tiles = inputs.step * ceilDiv(sequence.queries, config.bq) + ofStep;
  waitFor(passed, turnAt(inputs, sequence, before), where(before < keys, tiles, Index(0)));
}

void BackwardArguments::passTurn(const Sequence &sequence, const Index &keyRow, const Index &tiles) const {
  announce(passed, turnAt(inputs, sequence, keyRow), tiles);
}

void BackwardArguments::passBefore(const Sequence &sequence, const Index &keyRow,
                                   const VisitedTiles &visited) const {
  Index first = visited.at(0);
  k.when(visited.count > 0 && first > 0, [&] {
    awaitTurn(sequence, keyRow, first);
    passTurn(sequence, keyRow, first);
  });
}

void BackwardArguments::passAfter(const Sequence &sequence, const Index &keyRow, const VisitedTiles &visited,
                                  const Index &i) const {
  Index before = where(i == 0, visited.at(0), visited.at(max(i - 1, 0)) + 1);
  passTurn(sequence, keyRow, visited.at(i) + 1 - before);
}

void BackwardArguments::passRest(const Sequence &sequence, const Index &keyRow,
                                 const VisitedTiles &visited) const {
  Index all = ceilDiv(sequence.queries, config.bq);
  Index before = where(visited.count > 0, visited.at(max(visited.count - 1, 0)) + 1, Index(0));
  k.when(before < all, [&] {
    awaitTurn(sequence, keyRow, all);
    passTurn(sequence, keyRow, all - before);
  });
}

Index BackwardArguments::numberOfBlock(const TileScheduler &scheduler) const {
  Index tiles = scheduler.tilesAtMost();
  auto [block] = k.grid(inputs.blocksOfStep(isOrdered() ? tiles : min(tiles, k.multiprocessors())));
  return isOrdered() ? take(started, {inputs.step}) : block;
}

Index BackwardArguments::takeTile() const { return k.blocks() + take(taken, {inputs.step}); }

FragmentValue BackwardArguments::finished(const GradientSum &gradient, const FragmentValue &sum) const {
  return (gradient.scale == 1 ? sum : sum * gradient.scale).to(config.gradientType());
}

void BackwardArguments::store(const GradientSum &gradient, const GradientTile &tile, const Fragment &sum,
                              const ColumnRange &columns) const {
  KeySum way = gradient.axis == Axis::keys ? config.dkv : KeySum::loop;
  auto sharesOf = [&](const Index &head) {
    return shares(gradient, tile.sequence, head, tile.row, config.bk, columns);
  };
  switch (way) {
  case KeySum::loop:
    return forEachResult(gradient, tile, columns,
                         [&](const Slice &rows) { copy(finished(gradient, sum), rows); });
  case KeySum::split:
    return copy(sum, sharesOf(tile.sequence.head).disjoint(whyDisjoint));
  case KeySum::atomic:
    return atomicAdd(sum, sharesOf(tile.kvHead));
  }
}

Slice BackwardArguments::numbers(const Global &tensor, const Sequence &sequence, const Index &row,
                                 int64_t count) const {
  if (inputs.sequences.isPacked())
    return tensor.tile({sequence.head, sequence.firstQuery + row}, {1, count})
        .limited(1, sequence.firstQuery + sequence.queries);
  Slice slice = tensor.tile({sequence.batch, sequence.head, row}, {1, 1, count});
  return inputs.sequences.isUniform() ? slice : slice.limited(2, sequence.queries);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

FragmentValue BackwardArguments::exponents(const FragmentValue &logSums) const {
  FragmentValue inBase = config.problem.logBase == LogBase::e ? logSums * log2e : logSums;
  return where(inBase == -inf, inf, inBase);
}

BackwardArguments::RowSlices BackwardArguments::rowSlices(const Sequence &sequence, const Index &row,
                                                          int64_t count) const {
  return {numbers(LSE, sequence, row, count), numbers(delta, sequence, row, count)};
}

BackwardArguments::RowNumbers BackwardArguments::rowNumbers(const Sequence &sequence, const Index &row,
                                                            const Shape &shape) const {
  RowSlices slices = rowSlices(sequence, row, shape[0] * shape[1]);
  Fragment logSum = k.fragment(f32, shape), sum = k.fragment(f32, shape);
  copy(slices.logSums.fill(inf), logSum);
  copy(slices.deltas, sum);
  return {exponents(logSum), sum};
}

FragmentValue BackwardArguments::weights(const FragmentValue &seen, const FragmentValue &exponent) const {
  return exp2(seen * scores.scale().softmax - exponent);
}

FragmentValue BackwardArguments::slopes(const FragmentValue &weights, const FragmentValue &scores) const {
  if (!config.problem.isCapped())
    return weights;
  FragmentValue quotient = scores * (1 / config.problem.softCap);
  return weights * (1 - quotient * quotient);
}

FragmentValue BackwardArguments::gradients(const FragmentValue &weights, const FragmentValue &ofWeights,
                                           const FragmentValue &scores, const FragmentValue &delta) const {
  return slopes(weights, scores) * (ofWeights - delta);
}

} // namespace tlc::kernels
