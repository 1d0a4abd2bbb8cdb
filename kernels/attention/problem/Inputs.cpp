// SPDX-License-Identifier: Apache-2.0
/// \file
/// Declarations of inputs, and boxes of them.
#include "kernels/attention/problem/Inputs.h"

namespace tlc::kernels {

using namespace dsl;

Inputs::Inputs(Scope &k, const AttentionProblem &problem, TensorFacts facts)
    : problem(problem), sequences(k, problem.lengths), heads(k.dim("h")), kvHeads(k.dim("hkv")) {
  const Index &sq = sequences.rows(Axis::queries), &sk = sequences.rows(Axis::keys);
  Q = k.input("Q", problem.dtype, shapeOf({sequences.count, sq, heads, problem.d}), facts);
  K = k.input("K", problem.dtype, shapeOf({sequences.count, sk, kvHeads, problem.d}), facts);
  V = k.input("V", problem.dtype, shapeOf({sequences.count, sk, kvHeads, problem.dv}), facts);
  if (problem.hasBytes()) {
    // Extents are no sums, so that packed sequences are counted again.
    factors = sequences.isPacked() ? k.dim("b") : sequences.count;
    scaleQ = k.input("scaleQ", f32, {factors, heads});
    scaleK = k.input("scaleK", f32, {factors, kvHeads});
    scaleV = k.input("scaleV", f32, {factors, kvHeads});
  }
  sequences.declareLengths(k);
  if (problem.sink == AttentionSink::perHead)
    sink = k.input("sink", f32, {heads});
}

std::vector<Index> Inputs::shapeOf(std::vector<Index> axes) const {
  if (sequences.isPacked())
    axes.erase(axes.begin());
  return axes;
}

Slice Inputs::rowsOf(const Global &tensor, Axis axis, const Sequence &sequence, const Index &row,
                     int64_t rows, const Index &head, const ColumnRange &columns) const {
  if (!sequences.isPacked())
    return tensor.tile({sequence.batch, row, head, columns.first}, {1, rows, 1, columns.count});
  const Index &first = axis == Axis::queries ? sequence.firstQuery : sequence.firstKey;
  return tensor.tile({first + row, head, columns.first}, {rows, 1, columns.count});
}

Slice Inputs::ownRowsOf(const Global &tensor, Axis axis, const Sequence &sequence, const Index &row,
                        int64_t count, const Index &head, const ColumnRange &columns) const {
  Slice rows = rowsOf(tensor, axis, sequence, row, count, head, columns);
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

} // namespace tlc::kernels
