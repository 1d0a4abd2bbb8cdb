// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sequences of a call: where their rows are, and how many there are. For all kernels that work on tiles
/// of queries or of keys of whole sequences.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/problem/Options.h"

#include <optional>
#include <vector>

namespace tlc::kernels {

/// Rows of scores, or their columns.
enum class Axis : uint8_t { queries, keys };

/// One sequence, as one head of it is worked on; positions in it count from 0.
struct Sequence {
  dsl::Index batch, head;
  dsl::Index queries, keys;                ///< their numbers
  dsl::Index firstQuery = 0, firstKey = 0; ///< where they begin among packed rows
  // Of a sequence of which this rank has some queries only: those of all ranks, and where they begin among
  // all ranks' packed rows.
  dsl::Index allQueries = 0, begin = 0;
};

/// Where a tile of rows begins. One of packed sequences may not exist.
struct TilePlace {
  dsl::Index row, head, batch;
  std::optional<dsl::Predicate> exists = {};
};

/// Which of all parts of a sequence, or of packed ones together, the part number `ofRank` of a rank is.
dsl::Index placeOfPart(const dsl::Index &owner, const dsl::Index &ofRank, const dsl::Index &ranks);

/// The rows that this rank has of those of all ranks, each of which has as many.
struct RankRows {
  ShardOrder order = ShardOrder::contiguous;
  dsl::Index rank, ranks, rows;

  /// How many of them come before a place among the rows of all ranks.
  dsl::Index before(const dsl::Index &place) const;
  dsl::FragmentValue before(const dsl::FragmentValue &places) const; ///< of i32
};

class Sequences {
public:
  Sequences() = default;
  /// Declares `b` or `ends`, `sq` and `sk`, which are those of each rank if there are shards.
  Sequences(dsl::Scope &k, const AttentionProblem &problem);
  /// Declares the tensors of lengths, if there are any.
  void declareLengths(dsl::Scope &k);

  bool isUniform() const { return lengths == Lengths::uniform; }
  bool isPacked() const { return lengths == Lengths::packed; }
  /// Queries and keys that a rank has, of sharded sequences; of packed ones it has room for so many.
  const dsl::Index &queriesOfRank() const { return ownQueryRows; }
  const dsl::Index &keysOfRank() const { return ownKeyRows; }
  /// Of these, how many its part number `ofRank` has: of packed sequences the last parts may have fewer than
  /// others, or none.
  dsl::Index rowsOfPart(Axis axis, const dsl::Index &owner, const dsl::Index &ofRank) const;
  /// Rows of tensors, of a sequence at most; of packed sequences: of all of them.
  const dsl::Index &rows(Axis axis) const { return axis == Axis::queries ? queryRows : keyRows; }
  /// Rows of a sequence.
  dsl::Index rowsOf(Axis axis, const dsl::Index &batch) const;
  /// Where they begin among packed rows; those that come after the last sequence, where it ends.
  dsl::Index firstRowOf(Axis axis, const dsl::Index &batch) const;
  /// Of packed sequences: where they begin among the rows of all ranks.
  const dsl::Global &begins(Axis axis) const { return lengthsOf(axis); }
  /// How many of the rows before a place among those of all ranks are rows of these tensors.
  template <class Place> Place rowsBefore(Axis axis, const Place &place) const {
    return axis == Axis::queries && ownQueries ? ownQueries->before(place) : place;
  }

  /// Extents or a position, b x ..., of packed sequences without b.
  template <class T> std::vector<T> withoutBatch(std::vector<T> axes) const {
    if (isPacked())
      axes.erase(axes.begin());
    return axes;
  }
  /// Where an axis of b x ... is then.
  int64_t axisOf(int64_t axis) const { return isPacked() ? axis - 1 : axis; }
  /// Extent of b.
  dsl::Index batches() const { return isPacked() ? dsl::Index(1) : count; }

  /// What tells one tile from the others, so that one role can find out and hand it on.
  using Fields = std::vector<dsl::Index>;
  int64_t fieldCount() const { return isUniform() ? 3 : hasPlaces() ? 9 : 7; }
  /// A tile along `axis` that does not exist belongs to a sequence that has no rows along it.
  Fields fieldsOf(Axis axis, const TilePlace &place) const;
  static const dsl::Index &rowOf(const Fields &fields) { return fields[0]; }
  Sequence sequenceOf(const Fields &fields) const;

  Lengths lengths = Lengths::uniform;
  dsl::Index count;

private:
  const dsl::Global &lengthsOf(Axis axis) const { return axis == Axis::queries ? queryLengths : keyLengths; }
  /// Whether sequences have queries elsewhere, too.
  bool hasPlaces() const { return isPacked() && ownQueries; }

  dsl::Index ends; ///< of packed sequences there is one begin more than there are sequences
  dsl::Index queryRows, keyRows, ownQueryRows, ownKeyRows;
  std::optional<RankRows> ownQueries; ///< where a rank has some queries of sequences only
  dsl::Index ranks;                   ///< of sharded sequences
  int64_t parts = 1;                  ///< of the rows of a rank
  dsl::Global queryLengths, keyLengths;
};

} // namespace tlc::kernels
