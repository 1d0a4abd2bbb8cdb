// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arguments, tiles and arithmetic of attention backward, and its launches without products.
#include "kernels/attention/backward/BackwardArguments.h"

#include <numbers>

namespace tlc::kernels {

using namespace dsl;
using std::numbers::log2e;

namespace {
constexpr std::string_view whyDisjoint = "a block works on a tile once";
constexpr int64_t rowsTogether = 32; ///< of the launches without products
} // namespace

BackwardArguments::BackwardArguments(Scope &k, const BackwardConfig &config, const MaskMaker &makeMask,
                                     TensorFacts facts)
    : config(config), k(k), inputs(k, config.problem, facts), scores(k, inputs) {
  const AttentionProblem &problem = config.problem;
  const Index &batches = inputs.sequences.count, &heads = inputs.heads, &kvHeads = inputs.kvHeads;
  const Index &sq = inputs.sequences.rows(Axis::queries), &sk = inputs.sequences.rows(Axis::keys);
  O = k.input("O", problem.dtype, inputs.shapeOf({batches, sq, heads, problem.dv}));
  dO = k.input("dO", problem.dtype, inputs.shapeOf({batches, sq, heads, problem.dv}), facts);
  LSE = k.input("LSE", f32, inputs.shapeOf({batches, heads, sq}));
  mask = makeMask({k, batches, sq, sk, heads});
  ElementType type = config.gradientType();
  dQ = k.output("dQ", type, inputs.shapeOf({batches, sq, heads, problem.d}));
  dK = k.output("dK", type, inputs.shapeOf({batches, sk, kvHeads, problem.d}));
  dV = k.output("dV", type, inputs.shapeOf({batches, sk, kvHeads, problem.dv}));
  if (problem.sink == AttentionSink::perHead)
    dSink = k.output("dSink", f32, {heads});
  delta = k.workspace("delta", f32, inputs.shapeOf({batches, heads, sq}));
  if (config.dq == QuerySum::atomic) {
    // Packed sequences begin anywhere, so that their tiles are not whole pieces of an accumulator.
    TensorOrder order = inputs.sequences.isPacked() ? TensorOrder::natural : TensorOrder::accumulator;
    querySum =
        k.workspace("dq_sum", f32, inputs.shapeOf({batches, heads, sq, problem.d}), {Initial::zero, order});
  }
}

TileScheduler::Space BackwardArguments::tileSpace(Axis axis) const {
  const AttentionProblem &problem = config.problem;
  bool isOfKeys = axis == Axis::keys;
  return {.axis = axis,
          .rowsOfTile = config.bk,
          .order = mask.order,
          .heads = isOfKeys ? inputs.kvHeads : inputs.heads,
          .kvHeads = inputs.kvHeads,
          .cachedRowBytes = (problem.d + problem.dv) * int64_t(sizeInBytes(problem.dtype))};
}

GradientTile BackwardArguments::keyTileAt(const Sequences::Fields &fields) const {
  Sequence sequence = inputs.sequences.sequenceOf(fields);
  return {.row = Sequences::rowOf(fields), .kvHead = sequence.head, .sequence = sequence};
}

GradientTile BackwardArguments::queryTileAt(const Sequences::Fields &fields) const {
  GradientTile tile = keyTileAt(fields);
  tile.kvHead = tile.sequence.head / (inputs.heads / inputs.kvHeads);
  return tile;
}

VisitedTiles BackwardArguments::queriesSeeing(const GradientTile &tile, const Sequence &sequence) const {
  VisitedTiles queries = mask.tilesOfQueries(sequence, tile.row, config.bk, config.bq);
  // Weights of keys that do not exist are no numbers if others are small enough.
  queries.partial = where(tile.row + config.bk > sequence.keys, queries.count, queries.partial);
  return queries;
}

VisitedTiles BackwardArguments::keysSeen(const GradientTile &tile) const {
  return mask.tilesOfKeys(tile.sequence, tile.row, config.bk, config.bq);
}

void BackwardArguments::forEachHead(const GradientTile &keys,
                                    const std::function<void(const Sequence &)> &body) const {
  Index group = inputs.heads / inputs.kvHeads;
  k.loop(group, [&](Index n) {
    Sequence sequence = keys.sequence;
    sequence.head = keys.kvHead * group + n;
    body(sequence);
  });
}

Slice BackwardArguments::rows(const Global &tensor, Axis axis, const Sequence &sequence, const Index &row,
                              int64_t count, const Index &head, int64_t length) const {
  return inputs.ownRowsOf(tensor, axis, sequence, row, count, head, {0, length});
}

Slice BackwardArguments::queries(const Sequence &sequence, const Index &row, int64_t count) const {
  return rows(inputs.Q, Axis::queries, sequence, row, count, sequence.head, paddedRow(config.problem.d));
}
Slice BackwardArguments::outputGradients(const Sequence &sequence, const Index &row, int64_t count) const {
  return rows(dO, Axis::queries, sequence, row, count, sequence.head, paddedRow(config.problem.dv));
}
Slice BackwardArguments::keys(const Sequence &sequence, const Index &row, const Index &kvHead,
                              int64_t count) const {
  return rows(inputs.K, Axis::keys, sequence, row, count, kvHead, paddedRow(config.problem.d));
}
Slice BackwardArguments::values(const Sequence &sequence, const Index &row, const Index &kvHead,
                                int64_t count) const {
  return rows(inputs.V, Axis::keys, sequence, row, count, kvHead, paddedRow(config.problem.dv));
}

Slice BackwardArguments::keyGradients(const GradientTile &tile) const {
  return rows(dK, Axis::keys, tile.sequence, tile.row, config.bk, tile.kvHead, paddedRow(config.problem.d))
      .disjoint(whyDisjoint);
}
Slice BackwardArguments::valueGradients(const GradientTile &tile) const {
  return rows(dV, Axis::keys, tile.sequence, tile.row, config.bk, tile.kvHead, paddedRow(config.problem.dv))
      .disjoint(whyDisjoint);
}
Slice BackwardArguments::queryGradients(const GradientTile &tile) const {
  return rows(dQ, Axis::queries, tile.sequence, tile.row, config.bk, tile.sequence.head,
              paddedRow(config.problem.d))
      .disjoint(whyDisjoint);
}

Slice BackwardArguments::querySums(const Sequence &sequence, const Index &row) const {
  // What rows after a sequence's last one get is 0.
  if (inputs.sequences.isPacked())
    return querySum.tile({sequence.head, sequence.firstQuery + row, 0},
                         {1, config.bq, paddedRow(config.problem.d)});
  return querySum.tile({sequence.batch, sequence.head, row, 0},
                       {1, 1, config.bq, paddedRow(config.problem.d)});
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

/// What is subtracted from exponents of two. That of a query that sees nothing makes all weights 0.
FragmentValue BackwardArguments::inBaseTwo(const FragmentValue &logSums) const {
  FragmentValue inBase = config.problem.logBase == LogBase::e ? logSums * log2e : logSums;
  return where(inBase == -inf, inf, inBase);
}

BackwardArguments::RowNumbers BackwardArguments::rowNumbers(const Sequence &sequence, const Index &row,
                                                            const Shape &shape) const {
  int64_t count = shape[0] * shape[1];
  Fragment logSum = k.fragment(f32, shape), sum = k.fragment(f32, shape);
  copy(numbers(LSE, sequence, row, count).fill(inf), logSum);
  copy(numbers(delta, sequence, row, count), sum);
  return {inBaseTwo(logSum), sum};
}

FragmentValue BackwardArguments::weights(const FragmentValue &seen, const FragmentValue &exponent) const {
  return exp2(seen * scores.scale().softmax - exponent);
}

FragmentValue BackwardArguments::gradients(const FragmentValue &weights, const FragmentValue &ofWeights,
                                           const FragmentValue &scores, const FragmentValue &delta) const {
  FragmentValue gradients = weights * (ofWeights - delta);
  if (!config.problem.isCapped())
    return gradients;
  FragmentValue quotient = scores * (1 / config.problem.softCap);
  return gradients * (1 - quotient * quotient);
}

//===----------------------------------------------------------------------===//
// Launches without products
//===----------------------------------------------------------------------===//

/// All rows of tensors, of packed sequences as if they were one.
Sequence BackwardArguments::sequenceOf(const Index &batch, const Index &head) const {
  const Sequences &all = inputs.sequences;
  if (all.isPacked())
    return {.batch = 0, .head = head, .queries = all.begins(Axis::queries).read({all.count}), .keys = 0};
  return {.batch = batch, .head = head, .queries = all.rowsOf(Axis::queries, batch), .keys = 0};
}

void BackwardArguments::writeDeltas() const {
  forEachTileOfRows([&](const Sequence &sequence, const Index &row) {
    auto load = [&](const Global &tensor) {
      Fragment tile = k.fragment(config.problem.dtype, {rowsTogether, config.problem.dv});
      copy(rows(tensor, Axis::queries, sequence, row, rowsTogether, sequence.head, config.problem.dv), tile);
      return tile.to(f32);
    };
    copy(rowSum(load(O) * load(dO)), numbers(delta, sequence, row, rowsTogether));
  });
}

void BackwardArguments::convertQuerySums() const {
  forEachTileOfRows([&](const Sequence &sequence, const Index &row) {
    int64_t d = config.problem.d;
    Fragment sum = k.fragment(f32, {rowsTogether, d});
    copy(inputs.sequences.isPacked()
             ? querySum.tile({sequence.head, row, 0}, {1, rowsTogether, d})
             : querySum.tile({sequence.batch, sequence.head, row, 0}, {1, 1, rowsTogether, d}),
         sum);
    copy((sum * config.problem.scoreScale()).to(config.gradientType()),
         rows(dQ, Axis::queries, sequence, row, rowsTogether, sequence.head, d));
  });
}

void BackwardArguments::forEachTileOfRows(
    const std::function<void(const Sequence &, const Index &)> &body) const {
  Index rowTiles = ceilDiv(inputs.sequences.rows(Axis::queries), rowsTogether);
  Index batches = inputs.sequences.isPacked() ? Index(1) : inputs.sequences.count;
  k.warps(4);
  auto [block] = k.grid(rowTiles * inputs.heads * batches);
  Index pair = block / rowTiles;
  body(sequenceOf(pair / inputs.heads, pair % inputs.heads), block % rowTiles * rowsTogether);
}

void BackwardArguments::writeSinkGradients() const {
  constexpr int64_t together = 1024;
  k.warps(4);
  auto [head] = k.grid(inputs.heads);
  Fragment sink = k.fragment(f32, {1, 1}), sum = k.fragment(f32, {1, together});
  copy(inputs.sink.tile({head}, {1}), sink);
  k.loop(inputs.sequences.isPacked() ? Index(1) : inputs.sequences.count, [&](Index batch) {
    Sequence sequence = sequenceOf(batch, head);
    k.loop(ceilDiv(sequence.queries, together), [&](Index i) {
      Fragment logSum = k.fragment(f32, {1, together}), ofRows = k.fragment(f32, {1, together});
      copy(numbers(LSE, sequence, i * together, together).fill(inf), logSum);
      copy(numbers(delta, sequence, i * together, together), ofRows);
      sum = sum - exp2(sink * log2e - inBaseTwo(logSum)) * ofRows;
    });
  });
  copy(rowSum(sum), dSink.tile({head}, {1}));
}

} // namespace tlc::kernels
