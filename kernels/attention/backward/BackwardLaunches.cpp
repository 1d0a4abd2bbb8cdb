// SPDX-License-Identifier: Apache-2.0
/// \file
/// The launches of attention backward that have no products.
#include "kernels/attention/backward/BackwardArguments.h"

#include <numbers>

namespace tlc::kernels {

using namespace dsl;
using std::numbers::log2e;

namespace {
constexpr int64_t rowsTogether = 32;
} // namespace

/// All rows of tensors, of packed sequences as if they were one.
Sequence BackwardArguments::sequenceOf(Axis axis, const Index &batch, const Index &head) const {
  const Sequences &all = inputs.sequences;
  if (!all.isPacked())
    return all.sequenceOf(all.fieldsOf(axis, {.row = 0, .head = head, .batch = batch}));
  Sequence sequence = {.batch = 0, .head = head, .queries = 0, .keys = 0};
  (axis == Axis::queries ? sequence.queries : sequence.keys) = all.firstRowOf(axis, all.count);
  return sequence;
}

void BackwardArguments::writeDeltas() const {
  forEachTileOfRows(Axis::queries, rowsTogether, [&](const Sequence &sequence, const Index &row) {
    auto rowsOf = [&](const Global &tensor, ElementStride stride = ElementStride::one) {
      return inputs.ownRowsOf(tensor, Axis::queries, sequence, row, rowsTogether, sequence.head,
                              {0, config.problem.dv}, stride);
    };
    auto load = [&](const Slice &from) {
      Fragment tile = k.fragment(config.problem.dtype, {rowsTogether, config.problem.dv});
      copy(from, tile);
      return tile;
    };
    Fragment outputs = load(rowsOf(O));
    Fragment gradients = load(stridedGradient ? rowsOf(*stridedGradient, ElementStride::any) : rowsOf(dO));
    if (stridedGradient)
      copy(gradients, rowsOf(dO));
    copy(rowSum(outputs.to(f32) * gradients.to(f32)), numbers(delta, sequence, row, rowsTogether));
    if (addsQuerySums(config.dq))
      copy(k.fragment(f32, {rowsTogether, ofQueries.length}),
           shares(ofQueries, sequence, sequence.head, row, rowsTogether, {0, ofQueries.length}));
  });
}

void BackwardArguments::writeUnseenKeys() const {
  forEachTileOfRows(Axis::keys, config.bk, [&](const Sequence &sequence, const Index &row) {
    GradientTile tile = {.row = row, .kvHead = sequence.head, .sequence = sequence};
    k.when(!isSeen(tile), [&] {
      for (const GradientSum *gradient : {&ofKeys, &ofValues})
        forEachResult(*gradient, tile, {0, gradient->length}, [&](const Slice &rows) {
          copy(k.fragment(config.gradientType(), {config.bk, gradient->length}), rows);
        });
    });
  });
}

void BackwardArguments::convertSums(Axis axis) const {
  forEachTileOfRows(
      axis, rowsTogether,
      [&](const Sequence &sequence, const Index &row) {
        if (axis == Axis::queries)
          return convert(ofQueries, sequence, row);
        convert(ofKeys, sequence, row);
        convert(ofValues, sequence, row);
      },
      true); // the last sums are in L2
}

void BackwardArguments::convert(const GradientSum &gradient, const Sequence &sequence,
                                const Index &row) const {
  auto load = [&](const Index &head) {
    Fragment share = k.fragment(f32, {rowsTogether, gradient.length});
    copy(shares(gradient, sequence, head, row, rowsTogether, {0, gradient.length}), share);
    return share;
  };
  bool isSplit = gradient.axis == Axis::keys && config.dkv == KeySum::split;
  Fragment sum = k.fragment(f32, {rowsTogether, gradient.length});
  if (isSplit) {
    k.loop(group(), [&](Index n) {
      Index head = sequence.head * group() + n;
      auto add = [&] { sum = sum + load(head); };
      if (!skipsUnseenKeys())
        return add();
      Sequence ofHead = sequence;
      ofHead.head = head;
      k.when(isSeen({.row = row / config.bk * config.bk, .kvHead = sequence.head, .sequence = ofHead}), add);
    });
  } else {
    sum = load(sequence.head);
  }
  auto toResults = [&](const std::function<void(const Slice &)> &body) {
    forEachResult(gradient, sequence, row, rowsTogether, sequence.head, {0, gradient.length}, body);
  };
  if (inputs.sequences.isPacked())
    return toResults([&](const Slice &result) { copy(finished(gradient, sum), result); });
  // An accumulator has two elements of a row side by side, shared memory whole rows.
  Shared tile = k.shared("rows", config.gradientType(), {rowsTogether, gradient.length});
  copy(finished(gradient, sum), tile);
  toResults([&](const Slice &result) { copy(tile, result); });
}

void BackwardArguments::forEachTileOfRows(Axis axis, int64_t count,
                                          const std::function<void(const Sequence &, const Index &)> &body,
                                          bool isReversed) const {
  Index rowTiles = ceilDiv(inputs.sequences.rows(axis), count);
  const Index &heads = axis == Axis::queries ? inputs.heads : inputs.kvHeads;
  Index batches = inputs.sequences.isPacked() ? Index(1) : inputs.sequences.count;
  k.warps(4);
  auto [number] = k.grid(rowTiles * heads * batches);
  Index block = isReversed ? k.blocks() - 1 - number : Index(number);
  Index pair = block / rowTiles;
  body(sequenceOf(axis, pair / heads, pair % heads), block % rowTiles * count);
}

void BackwardArguments::writeSinkGradients() const {
  constexpr int64_t together = 1024;
  k.warps(4);
  auto [number] = k.grid(inputs.sinks);
  Index head = number - inputs.firstSink;
  Fragment sink = k.fragment(f32, {1, 1}), sum = k.fragment(f32, {1, together});
  copy(inputs.sink.tile({number}, {1}), sink);
  Index sequences = inputs.sequences.isPacked() ? Index(1) : inputs.sequences.count;
  if (inputs.exchange) // other ranks have the rows of the other heads
    sequences = where(head >= 0 && head < inputs.heads, sequences, 0);
  k.loop(sequences, [&](Index batch) {
    Sequence sequence = sequenceOf(Axis::queries, batch, head);
    k.loop(ceilDiv(sequence.queries, together), [&](Index i) {
      Fragment logSum = k.fragment(f32, {1, together}), ofRows = k.fragment(f32, {1, together});
      copy(numbers(LSE, sequence, i * together, together).fill(inf), logSum);
      copy(numbers(delta, sequence, i * together, together), ofRows);
      sum = sum - exp2(sink * log2e - exponents(logSum)) * ofRows;
    });
  });
  copy(rowSum(sum), dSink.tile({number}, {1}));
}

} // namespace tlc::kernels
