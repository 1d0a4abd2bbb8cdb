// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arguments and tiles of attention forward.
#include "kernels/attention/forward/ForwardArguments.h"

namespace tlc::kernels {

using namespace dsl;

OutputPath outputPath(const ForwardConfig &config) {
  const AttentionProblem &problem = config.problem;
  int64_t depth = paddedDepth(problem), values = paddedValues(problem);
  if (isSplit(values))
    return OutputPath::registers;
  return depth == values && !problem.hasBytes() ? OutputPath::tileOfQueries : OutputPath::ownTile;
}

ForwardArguments::ForwardArguments(Scope &k, const ForwardConfig &config, const MaskMaker &makeMask,
                                   TensorFacts facts)
    : config(config), k(k), inputs(k, config.problem, facts), scores(k, inputs),
      sq(inputs.sequences.rows(Axis::queries)), sk(inputs.sequences.rows(Axis::keys)), makeMask(makeMask) {
  const Index &batches = inputs.sequences.count, &heads = inputs.heads;
  if (inputs.ring)
    beginStep(0);
  else
    mask = makeMask({k, batches, sq, sk, heads});
  const AttentionProblem &problem = config.problem;
  if (inputs.exchange) {
    O = inputs.exchange->output("O", problem.outputType(), Axis::queries, problem.dv);
    LSE = inputs.exchange->output("LSE", f32, Axis::queries, {});
    return;
  }
  O = k.output("O", problem.outputType(), inputs.shapeOf({batches, sq, heads, problem.dv}), facts);
  LSE = k.output("LSE", f32, inputs.shapeOf({batches, heads, sq}));
  if (inputs.isLastStep())
    return;
  const auto parts = int64_t(columnParts(paddedValues(problem)).size());
  partialO = k.workspace("partial_O", f32, {batches, heads, sq, problem.dv},
                         {Initial::undefined, TensorOrder::accumulator});
  partialLse = k.workspace("partial_LSE", f32, {parts, batches, heads, sq});
}

void ForwardArguments::beginStep(int64_t step) {
  inputs.beginStep(step);
  mask = makeMask({k, inputs.sequences.count, sq, sk, inputs.heads, inputs.ring->ownerAt(step)});
}

Index ForwardArguments::tilesOfStep(const Index &tiles) const {
  if (inputs.step == 0 || inputs.isLastStep())
    return tiles;
  const Sequence all = inputs.sequences.sequenceOf({Index(0), Index(0), Index(0)});
  VisitedTiles seen(mask.keysSeen(all, {0, sq - 1}), sk, config.bk);
  return where(seen.count > 0, tiles, Index(0));
}

TileScheduler::Space ForwardArguments::tileSpace() const {
  const AttentionProblem &problem = config.problem;
  return {.axis = Axis::queries,
          .rowsOfTile = config.bq,
          .order = mask.order,
          .heads = inputs.heads,
          .kvHeads = inputs.kvHeads,
          .cachedRowBytes = bytesOf(problem.dtype, problem.d + problem.dv)};
}

QueryTile ForwardArguments::tileAt(const Sequences::Fields &fields) const {
  QueryTile tile;
  tile.row = Sequences::rowOf(fields);
  tile.sequence = inputs.sequences.sequenceOf(fields);
  tile.kvHead = tile.sequence.head / (inputs.heads / inputs.kvHeads);
  tile.keys = mask.tilesOfKeys(tile.sequence, tile.row, config.bq, config.bk);
  return tile;
}

Slice ForwardArguments::queries(const QueryTile &tile) const {
  return inputs.rowsOf(inputs.Q, Axis::queries, tile.sequence, tile.row, config.bq, tile.sequence.head,
                       {0, paddedDepth(config.problem)});
}

Slice ForwardArguments::keys(const QueryTile &tile, const Index &j) const {
  return inputs.rowsOf(inputs.K, Axis::keys, tile.sequence, j * config.bk, config.bk, tile.kvHead,
                       {0, paddedDepth(config.problem)});
}

void ForwardArguments::awaitKeys(const QueryTile &tile, const Index &i,
                                 const std::optional<Index> &before) const {
  if (!inputs.awaitsKeys())
    return;
  auto row = [&](const Index &visit) { return tile.keys.at(visit) * config.bk; };
  inputs.awaitKeys(tile.sequence, row(i), config.bk, before ? std::optional(row(*before)) : std::nullopt);
}

Slice ForwardArguments::values(const QueryTile &tile, const Index &j, const ColumnRange &columns) const {
  return inputs.valueRowsOf(tile.sequence, tile.kvHead, j * config.bk, config.bk, columns);
}

static constexpr std::string_view whyDisjoint = "a block works on a tile of queries once";

Slice ForwardArguments::output(const QueryTile &tile, const ColumnRange &columns) const {
  if (!inputs.isLastStep())
    return partialOutput(tile, columns);
  Slice rows =
      inputs.rowsOf(O, Axis::queries, tile.sequence, tile.row, config.bq, tile.sequence.head, columns);
  if (inputs.sequences.isPacked())
    rows = rows.limited(0, tile.sequence.firstQuery + tile.sequence.queries);
  return rows.disjoint(whyDisjoint);
}

Slice ForwardArguments::logSums(const QueryTile &tile) const {
  if (!inputs.sequences.isPacked())
    return LSE.tile({tile.sequence.batch, tile.sequence.head, tile.row}, {1, 1, config.bq})
        .disjoint(whyDisjoint);
  return LSE.tile({tile.sequence.head, tile.sequence.firstQuery + tile.row}, {1, config.bq})
      .limited(1, tile.sequence.firstQuery + tile.sequence.queries)
      .disjoint(whyDisjoint);
}

Slice ForwardArguments::partialOutput(const QueryTile &tile, const ColumnRange &columns) const {
  return partialO
      .tile({tile.sequence.batch, tile.sequence.head, tile.row, columns.first},
            {1, 1, config.bq, columns.count})
      .disjoint(whyDisjoint);
}

Slice ForwardArguments::partialLogSums(const QueryTile &tile, const ColumnRange &columns) const {
  const int64_t part = columns.first == 0 ? 0 : 1;
  return partialLse.tile({part, tile.sequence.batch, tile.sequence.head, tile.row}, {1, 1, 1, config.bq});
}

FragmentValue ForwardArguments::finish(const QueryTile &tile, const WeightedRows &given,
                                       const ColumnRange &columns) const {
  const AttentionProblem &problem = config.problem;
  WeightedRows rows = given;
  if (inputs.step > 0) {
    Fragment before = k.fragment(f32, {config.bq, columns.count}), logSum = k.fragment(f32, {config.bq, 1});
    copy(partialOutput(tile, columns), before);
    copy(partialLogSums(tile, columns), logSum);
    rows = joined({before, k.fragment(f32, {config.bq, 1}, 1), logSum}, rows);
  }
  if (!inputs.isLastStep()) {
    FinishedRows partial = finishRows(rows, {}, LogBase::two);
    copy(partial.logSum, partialLogSums(tile, columns));
    return partial.o;
  }
  std::optional<Fragment> sink;
  if (problem.sink == AttentionSink::perHead) {
    sink = k.fragment(f32, {1, 1}).named("sink");
    copy(inputs.sink.tile({inputs.firstSink + tile.sequence.head}, {1}), *sink);
  }
  FinishedRows result = finishRows(rows, sink, problem.logBase, [&] {
    return problem.hasBytes() ? Operand(scores.factor(inputs.scaleV, tile.sequence.batch, tile.kvHead))
                              : Operand(problem.keptFactor());
  });
  if (problem.lengths == Lengths::padded)
    result = result.limited(tile.row, tile.sequence.queries);
  if (columns.first == 0)
    copy(result.logSum, logSums(tile));
  return result.o;
}

} // namespace tlc::kernels
