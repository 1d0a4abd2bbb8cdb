// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which row goes where in a mixture of experts whose experts are on several ranks.
#pragma once

#include "runtime/support/Math.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tlc::kernels {

struct MoeExtents {
  int64_t tokens, hidden, experts, topk, capacity, ranks; ///< tokens and capacity of each rank

  int64_t expertsOfRank() const { return ceilDiv(experts, ranks); }
};

/// What a dispatch makes of the experts of all ranks' tokens.
struct MoeRouting {
  /// A row that a rank gets: whose it is.
  struct Source {
    int64_t rank, token;
  };
  std::vector<std::vector<Source>> rows;   ///< of each rank, at most `capacity`
  std::vector<std::vector<double>> ends;   ///< of each rank's experts
  std::vector<std::vector<double>> places; ///< of each rank: tokens x topk x 2
  std::vector<double> counts;              ///< of each expert
};

/// `experts` is tokens x topk, of each rank.
MoeRouting referenceRouting(const MoeExtents &extents, std::span<const std::vector<double>> experts);

/// Elements of Y[tokens, hidden] of a combine: `rows` are of each rank, `places` and `weights` of one.
std::vector<double> referenceCombine(const MoeExtents &extents, std::span<const std::vector<double>> rows,
                                     std::span<const double> places, std::span<const double> weights,
                                     std::span<const int64_t> elements);

} // namespace tlc::kernels
