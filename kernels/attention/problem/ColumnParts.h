// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one product sums up, and which columns of O are summed up together.
#pragma once

#include "kernels/attention/problem/Options.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include <cstdint>
#include <vector>

namespace tlc::kernels {

/// Elements of 16 bits that one product of the tensor cores sums up.
inline constexpr int64_t productDepth = matrixDepthBytes / 2;

/// Elements that a row takes in shared memory and in registers, zeros after the tensor's. The TMA copies a
/// row in boxes as wide as the swizzle that divides it, and boxes of 32 bytes are many: rows of 80 elements
/// of 16 bits take five of them, rows of 96 three of 64 bytes. Of rows that do not begin at sectors of L2
/// each box asks for one sector more: those of 72 and 88 elements take two boxes of 128 bytes.
inline int64_t paddedRow(const AttentionProblem &problem, int64_t elements) {
  constexpr int64_t wideDepth = 2 * productDepth, widestDepth = 4 * productDepth; // 64 and 128 bytes
  if (problem.hasBytes() || elements <= productDepth)
    return alignTo(elements, productDepth);
  bool beginsAtSectors = elements % productDepth == 0;
  bool takesTwoBoxes = elements > widestDepth && elements <= 2 * widestDepth;
  return alignTo(elements, !beginsAtSectors && takesTwoBoxes ? widestDepth : wideDepth);
}
inline int64_t paddedDepth(const AttentionProblem &problem) { return paddedRow(problem, problem.d); }
inline int64_t paddedValues(const AttentionProblem &problem) { return paddedRow(problem, problem.dv); }

/// Of these, the elements that products take, a multiple of `step`: not the zeros, where boxes of 128 bytes,
/// of which a product may take a part, have any.
inline int64_t multipliedRow(const AttentionProblem &problem, int64_t elements, int64_t step) {
  int64_t padded = paddedRow(problem, elements);
  bool hasWidestBoxes = !problem.hasBytes() && padded % (4 * productDepth) == 0;
  return hasWidestBoxes ? alignTo(elements, step) : padded;
}
inline int64_t multipliedDepth(const AttentionProblem &problem) {
  return multipliedRow(problem, problem.d, productDepth);
}
/// Neighbouring columns of a tensor's rows.
struct ColumnRange {
  int64_t first, count;
};

/// Parts of rows of V and O whose sums fit into the registers of the threads that compute 64 rows.
inline std::vector<ColumnRange> columnParts(int64_t dv) {
  constexpr int64_t most = 256,
                    granularity = 2 * productDepth; // boxes of 64 bytes
  if (dv <= most)
    return {{0, dv}};
  int64_t half = alignTo(dv / 2, granularity);
  return {{0, half}, {half, dv - half}};
}
inline bool isSplit(int64_t dv) { return columnParts(dv).size() > 1; }

/// Of the columns of V, those that products take: all where O is not stored from the tile of Q, because after
/// the columns of a tile of its own, and of sums of steps in memory, nothing would be.
inline int64_t multipliedValues(const AttentionProblem &problem) {
  const int64_t padded = paddedValues(problem);
  const bool leavesTileOfQueries =
      paddedDepth(problem) == padded && !isSplit(padded) && !problem.passesKeys();
  return leavesTileOfQueries ? multipliedRow(problem, problem.dv, wgmmaColumnStep) : padded;
}

} // namespace tlc::kernels
