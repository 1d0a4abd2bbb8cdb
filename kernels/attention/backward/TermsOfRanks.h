// SPDX-License-Identifier: Apache-2.0
/// \file
/// A gradient of keys of which every rank has a part: all ranks store their terms of it to the memory of the
/// rank that has the part, which sums them up.
#pragma once

#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/ShardedKeys.h"
#include "kernels/ranks/RankArrival.h"

#include <functional>
#include <span>
#include <string_view>

namespace tlc::kernels {

class TermsOfRanks {
public:
  /// Declares the terms, which are rounded to the type of `result`, b x sk x hkv x length, of packed
  /// sequences without b. They are stored in boxes of at most so many rows.
  TermsOfRanks(dsl::Scope &k, const ShardedKeys &shards, std::string_view name, dsl::Global result,
               int64_t length, ElementType type, int64_t rowsOfBox);

  /// Does `body` for each box where `count` keys of a sequence, from its row `row` on, of a head leave this
  /// rank's terms. Rows of the tile that lie beside a box belong to another rank, to another sequence or to
  /// none.
  void forEachBox(const Sequence &sequence, const dsl::Index &head, const dsl::Index &row, int64_t count,
                  const ColumnRange &columns, const std::function<void(const dsl::Slice &)> &body) const;

  /// The body of a launch after those that store terms: waits for those of all ranks, and sums them up in f32
  /// in the order of the ranks. Afterwards no rank reads this rank's K and V, either.
  static void sumUp(dsl::Scope &k, std::span<const TermsOfRanks> gradients, const RankArrival &sent);

private:
  /// Rows from `first` on of a part that this rank has.
  void sumRows(dsl::Scope &k, const dsl::Index &batch, const dsl::Index &head, const dsl::Index &part,
               const dsl::Index &first) const;
  /// Which matrix of `terms` has the terms of a rank.
  dsl::Index matrixOf(const dsl::Index &from, const dsl::Index &part, const dsl::Index &batch) const;

  const ShardedKeys *shards;
  dsl::Global result;
  int64_t length;
  ElementType type;
  /// Rows before a part's first one, which nobody reads: there a box of rows of two parts begins, as the TMA
  /// stores no box from a negative row on (PTX ISA, cp.async.bulk.tensor).
  int64_t rowsBefore;
  dsl::Symmetric terms; ///< ranks, parts and sequences together x rows of a part x hkv x length
};

} // namespace tlc::kernels
