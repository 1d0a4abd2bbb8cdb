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

/// Elements of a row of Q and K, and of V and O, in shared memory and in registers, zeros after the tensor's.
inline int64_t paddedDepth(const AttentionProblem &problem) { return alignTo(problem.d, productDepth); }
inline int64_t paddedValues(const AttentionProblem &problem) { return alignTo(problem.dv, productDepth); }

/// Neighbouring columns of a tensor's rows.
struct ColumnRange {
  int64_t first, count;
};

/// Parts of rows of V and O whose sums fit into the registers of the threads that compute 64 rows.
inline std::vector<ColumnRange> columnParts(int64_t dv) {
  constexpr int64_t most = 256,
                    granularity = productDepth; // a warpgroup's rows of so many take half of the registers
  if (dv <= most)
    return {{0, dv}};
  int64_t half = alignTo(dv / 2, granularity);
  return {{0, half}, {half, dv - half}};
}
inline bool isSplit(int64_t dv) { return columnParts(dv).size() > 1; }

} // namespace tlc::kernels
