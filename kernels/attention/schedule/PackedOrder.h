// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order in which tiles of packed sequences are computed. Their number and lengths are known to the
/// device alone, so that a launch of its own finds it out.
#pragma once

#include "kernels/attention/forward/ForwardProblem.h"

namespace tlc::kernels {

/// Sequences with the most keys come first. Where all row tiles of one take equally long, the heads of one K
/// and V come after those of another. Otherwise heads whose K and V stay in L2 together make a group; in a
/// group the longest tiles come first, in the next one last, so that neighbours take about the same time.
class PackedOrder {
public:
  PackedOrder(dsl::Scope &k, const ForwardConfig &config, const ForwardProblem &problem, RowOrder rows);

  /// The launch that fills the workspaces.
  void write() const;

  dsl::Index tiles() const { return count.read({0, 0}) * p.heads; }
  /// The tile of that number; one that does not exist is a tile of a sequence without queries.
  ForwardProblem::Position at(const dsl::Index &number) const;

private:
  dsl::Index rowTilesOf(const dsl::Index &batch) const;

  dsl::Scope &k;
  const ForwardConfig &c;
  const ForwardProblem &p;
  RowOrder rows;
  dsl::Global lines; ///< of each row tile: its sequence, and the first and the number of that one's row tiles
  dsl::Global count; ///< of row tiles
};

} // namespace tlc::kernels
