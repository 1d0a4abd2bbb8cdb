// SPDX-License-Identifier: Apache-2.0
/// \file
/// Keys and values of which every rank has a part, passed from neighbour to neighbour.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/problem/Sequences.h"

#include <string_view>
#include <vector>

namespace tlc::kernels {

/// In step t a rank has the part of the rank t places before it, in step 0 its own. Copy engines fetch that
/// of the next step from the rank on the left, beside the launch of this step, so that two parts of others
/// are here at a time:
///
///     fetch 1, step 0, fetch 2, step 1, ..., fetch n - 1, step n - 2, step n - 1
///
/// The launch of step t waits for fetch t + 1, and for both neighbours' fetches t + 1: afterwards the rank on
/// the left has what fetch t + 2 copies, and the one on the right does not need what fetch t + 2 overwrites.
class RingKeys {
public:
  /// Declares K and V as symmetric inputs of b x sk x hkv x d (dv), and room for the parts of two ranks.
  RingKeys(dsl::Scope &k, const AttentionProblem &problem, const Sequences &sequences,
           const dsl::Index &kvHeads, int64_t alignment);

  int64_t steps() const { return ranks; }
  /// Whose keys are here in a step, and which rank has this rank's keys.
  dsl::Index ownerAt(int64_t step) const { return (rank + (ranks - step)) % ranks; }
  dsl::Index userAt(int64_t step) const { return (rank + step) % ranks; }
  dsl::Global keys(int64_t step) const { return rowsAt(K, step, rank); }
  dsl::Global values(int64_t step) const { return rowsAt(V, step, rank); }

  /// The transfer right before the launch of a step, unless that is the last one: of the next step's keys.
  void fetchNext(std::string_view name, int64_t step) const;
  /// In the launch of a step, by each block: meets the neighbours, unless the step is the last.
  void endStep(int64_t step, const dsl::Index &block) const;

  const int64_t ranks;
  const dsl::Index batches, rowsOfRank, kvHeads, rank;

private:
  struct Rows {
    dsl::Symmetric own;
    std::vector<dsl::Symmetric> slots;
    int64_t columns;
  };
  Rows declare(dsl::Scope &k, std::string_view name, const AttentionProblem &problem, int64_t columns,
               int64_t alignment) const;
  static dsl::Global rowsAt(const Rows &rows, int64_t step, const dsl::Index &rank);

  dsl::Scope &k;
  dsl::Index left, right;
  Rows K, V;
  // Of each step but the last:
  dsl::Symmetric arrived; ///< 1 when the keys of the next step are here
  dsl::Symmetric met;     ///< neighbours that have theirs
};

} // namespace tlc::kernels
