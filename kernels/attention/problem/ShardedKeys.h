// SPDX-License-Identifier: Apache-2.0
/// \file
/// Keys and values of which every rank has a part, gathered before they are read.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/problem/Sequences.h"

#include <functional>
#include <optional>

namespace tlc::kernels {

/// The parts of all ranks go to where they are in the whole sequence: by loads of their memory in a launch of
/// every rank, or by each rank's copy engines, which write its part to all, beside the launch that reads
/// them.
class ShardedKeys {
public:
  /// Declares K and V as symmetric inputs of b x sk x hkv x d (dv), of packed sequences without b, and
  /// workspaces of all ranks' rows in order.
  ShardedKeys(dsl::Scope &k, const AttentionProblem &problem, const Sequences &sequences,
              const dsl::Index &kvHeads);

  const dsl::Global &keys() const { return K.gathered; }
  const dsl::Global &values() const { return V.gathered; }

  bool hasTransfer() const { return arrived.has_value(); }
  /// The body of a launch before those that read them. Every block comes to its end.
  void gather() const;
  /// Instead of it, of copy engines: a transfer right before the launch that reads them, which waits.
  void transfer(std::string_view name) const;
  /// In the launch after a transfer: until `count` rows from `row` on have arrived, which is one of the keys.
  /// If `before` is given, it has waited for as many rows from there on.
  void await(const dsl::Index &row, int64_t count, const std::optional<dsl::Index> &before = {}) const;

  /// Rows of one sequence that a rank has side by side: its part number `ofRank`, whose first row is `first`
  /// among all keys.
  struct Part {
    dsl::Index owner, ofRank, first;
  };
  Part partAt(const dsl::Index &owner, const dsl::Index &ofRank) const;
  /// Does `body` for each part that has some of the rows from `row` to before `end` of all keys.
  void forEachPart(const dsl::Index &row, const dsl::Index &end,
                   const std::function<void(const Part &)> &body) const;
  dsl::Index allRows() const; ///< that ranks have room for, together
  dsl::Index partLength() const;

  const Sequences &sequences;
  const dsl::Index batches, kvHeads, rank, ranks;
  const int64_t parts; ///< of the rows of a rank

private:
  struct Rows {
    dsl::Symmetric own;   ///< of each rank
    dsl::Symmetric ofAll; ///< copy engines: what each rank has gathered
    dsl::Global gathered; ///< by this one
    int64_t columns;
  };
  Rows declare(std::string_view name, int64_t columns) const;
  /// To a rank, from this one.
  void transferRows(const dsl::Transfer &transfer, const Rows &rows, const dsl::Index &to,
                    int64_t part) const;
  /// Rows of a part, from its row `first` on.
  void copyRows(const Rows &rows, const dsl::Index &batch, const dsl::Index &head, const Part &part,
                const dsl::Index &first) const;

  dsl::Scope &k;
  const AttentionProblem &problem;
  dsl::Index rowsOfRank;
  Rows K, V;
  std::optional<dsl::Symmetric> arrived; ///< ranks: 1 when the keys and values of a rank are here
};

} // namespace tlc::kernels
