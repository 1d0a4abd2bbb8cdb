// SPDX-License-Identifier: Apache-2.0
/// \file
/// Keys and values of which every rank has a part, gathered before they are read.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/problem/Sequences.h"

namespace tlc::kernels {

/// Every rank copies the parts of all ranks to where they are in the whole sequence, by loads of their
/// memory.
class ShardedKeys {
public:
  /// Declares K and V as symmetric inputs of b x sk x hkv x d (dv), and workspaces of all ranks' rows in
  /// order.
  ShardedKeys(dsl::Scope &k, const AttentionProblem &problem, const Sequences &sequences,
              const dsl::Index &kvHeads);

  const dsl::Global &keys() const { return K.gathered; }
  const dsl::Global &values() const { return V.gathered; }

  /// The body of a launch before those that read them.
  void gather() const;
  /// The body of a launch at the end: afterwards no rank reads this rank's K and V.
  void waitForReaders() const;

private:
  struct Rows {
    dsl::Symmetric own; ///< of each rank
    dsl::Global gathered;
    int64_t columns;
  };
  Rows declare(std::string_view name, int64_t columns) const;
  /// Rows of a part, from its row `first` on.
  void copyRows(const Rows &rows, const dsl::Index &batch, const dsl::Index &head, const dsl::Index &owner,
                const dsl::Index &part, const dsl::Index &first) const;
  dsl::Index partLength() const;

  dsl::Scope &k;
  const AttentionProblem &problem;
  dsl::Index batches, kvHeads, rank, ranks;
  dsl::Index rowsOfRank;
  int64_t parts; ///< of the rows of a rank
  Rows K, V;
  dsl::Symmetric finished; ///< ranks
  dsl::Global ended;       ///< blocks of this rank's gathering launch
};

} // namespace tlc::kernels
