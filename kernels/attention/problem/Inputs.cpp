// SPDX-License-Identifier: Apache-2.0
/// \file
/// Declarations of inputs, and boxes of them.
#include "kernels/attention/problem/Inputs.h"

namespace tlc::kernels {

using namespace dsl;

Inputs::Inputs(Scope &k, const AttentionProblem &problem, TensorFacts facts,
               std::optional<int64_t> headsOfGroup)
    : problem(problem), sequences(k, problem) {
  if (!headsOfGroup)
    heads = k.dim("h");
  kvHeads = k.dim("hkv");
  if (headsOfGroup)
    heads = kvHeads * *headsOfGroup;
  sinks = heads;
  const Index &sq = sequences.rows(Axis::queries), &sk = sequences.rows(Axis::keys);
  if (problem.exchangesHeads()) {
    exchange.emplace(k, *problem.shards, sequences, heads, kvHeads);
    Q = exchange->input("Q", problem.dtype, Axis::queries, problem.d);
    K = exchange->input("K", problem.dtype, Axis::keys, problem.d);
    V = exchange->input("V", problem.dtype, Axis::keys, problem.dv);
    heads = exchange->heads, kvHeads = exchange->kvHeads, firstSink = exchange->firstHead;
  } else {
    Q = k.input("Q", problem.dtype, shapeOf({sequences.count, sq, heads, problem.d}), facts);
    if (problem.passesKeys()) {
      ring.emplace(k, problem, sequences, kvHeads, facts.alignment);
      beginStep(0);
    } else if (problem.shards) {
      shards.emplace(k, problem, sequences, kvHeads);
      K = shards->keys(), V = shards->values();
    } else {
      K = k.input("K", problem.dtype, shapeOf({sequences.count, sk, kvHeads, problem.d}), facts);
      V = k.input("V", problem.dtype, shapeOf({sequences.count, sk, kvHeads, problem.dv}), facts);
    }
  }
  if (problem.hasBytes()) {
    // Extents are no sums, so that packed sequences are counted again.
    factors = sequences.isPacked() ? k.dim("b") : sequences.count;
    scaleQ = k.input("scaleQ", f32, {factors, heads});
    scaleK = k.input("scaleK", f32, {factors, kvHeads});
    scaleV = k.input("scaleV", f32, {factors, kvHeads});
  }
  sequences.declareLengths(k);
  if (problem.drops())
    philox = k.input("philox", i64, {2});
  if (problem.sink == AttentionSink::perHead)
    sink = k.input("sink", f32, {sinks});
}

Slice Inputs::rowsOf(const Global &tensor, Axis axis, const Sequence &sequence, const Index &row,
                     int64_t rows, const Index &head, const ColumnRange &columns,
                     ElementStride stride) const {
  std::vector<Index> origin = {sequence.batch, row, head, columns.first};
  Shape tile = {1, rows, 1, columns.count};
  if (sequences.isPacked()) {
    const Index &first = axis == Axis::queries ? sequence.firstQuery : sequence.firstKey;
    origin = {first + row, head, columns.first};
    tile = {rows, 1, columns.count};
  }
  if (stride == ElementStride::any) {
    origin.push_back(0);
    tile.push_back(1);
  }
  return tensor.tile(origin, tile);
}

Slice Inputs::ownRowsOf(const Global &tensor, Axis axis, const Sequence &sequence, const Index &row,
                        int64_t count, const Index &head, const ColumnRange &columns,
                        ElementStride stride) const {
  Slice rows = rowsOf(tensor, axis, sequence, row, count, head, columns, stride);
  if (sequences.isUniform())
    return rows;
  bool isOfQueries = axis == Axis::queries;
  const Index &first = isOfQueries ? sequence.firstQuery : sequence.firstKey;
  return rows.limited(sequences.isPacked() ? 0 : 1, first + (isOfQueries ? sequence.queries : sequence.keys));
}

Slice Inputs::valueRowsOf(const Sequence &sequence, const Index &kvHead, const Index &row, int64_t count,
                          const ColumnRange &columns) const {
  // What lies after a sequence's last key may be no number, and weights of 0 do not remove that.
  return ownRowsOf(V, Axis::keys, sequence, row, count, kvHead, columns);
}

void Inputs::awaitKeys(const Sequence &sequence, const Index &row, int64_t rows,
                       const std::optional<Index> &before) const {
  if (!awaitsKeys())
    return;
  const Index &first = sequence.firstKey;
  shards->await(first + row, rows, before ? std::optional(first + *before) : std::nullopt);
}

} // namespace tlc::kernels
