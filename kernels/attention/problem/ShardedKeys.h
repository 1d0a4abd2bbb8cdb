// SPDX-License-Identifier: Apache-2.0
/// \file
/// Keys and values of which every rank has a part, gathered before they are read.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/problem/Sequences.h"

#include <functional>

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

  /// The body of a launch before those that read them. Every block comes to its end.
  void gather() const;

  /// Rows of one sequence that a rank has side by side: its part number `ofRank`, whose first row is `first`
  /// among all keys.
  struct Part {
    dsl::Index owner, ofRank, first;
  };
  Part partAt(const dsl::Index &owner, const dsl::Index &ofRank) const;
  /// Does `body` for each part that has some of `count` rows from `row` on, which is one of the keys.
  void forEachPart(const dsl::Index &row, int64_t count, const std::function<void(const Part &)> &body) const;
  dsl::Index partLength() const;

  const dsl::Index batches, kvHeads, rank, ranks;
  const int64_t parts; ///< of the rows of a rank

private:
  struct Rows {
    dsl::Symmetric own; ///< of each rank
    dsl::Global gathered;
    int64_t columns;
  };
  Rows declare(std::string_view name, int64_t columns) const;
  /// Rows of a part, from its row `first` on.
  void copyRows(const Rows &rows, const dsl::Index &batch, const dsl::Index &head, const Part &part,
                const dsl::Index &first) const;

  dsl::Scope &k;
  const AttentionProblem &problem;
  dsl::Index rowsOfRank;
  Rows K, V;
};

} // namespace tlc::kernels
