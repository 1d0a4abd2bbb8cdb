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
};

/// Where a tile of rows begins. One of packed sequences may not exist.
struct TilePlace {
  dsl::Index row, head, batch;
  std::optional<dsl::Predicate> exists = {};
};

/// Which of all parts of a sequence the part number `ofRank` of a rank is.
dsl::Index placeOfPart(const dsl::Index &owner, const dsl::Index &ofRank, const dsl::Index &ranks);

class Sequences {
public:
  Sequences() = default;
  /// Declares `b` or `ends`, `sq` and `sk`, which are those of each rank if there are shards.
  Sequences(dsl::Scope &k, const AttentionProblem &problem);
  /// Declares the tensors of lengths, if there are any.
  void declareLengths(dsl::Scope &k);

  bool isUniform() const { return lengths == Lengths::uniform; }
  bool isPacked() const { return lengths == Lengths::packed; }
  /// Queries and keys that a rank has, of sharded sequences.
  const dsl::Index &queriesOfRank() const { return ownQueryRows; }
  const dsl::Index &keysOfRank() const { return ownKeyRows; }
  /// Rows of tensors, of a sequence at most; of packed sequences: of all of them.
  const dsl::Index &rows(Axis axis) const { return axis == Axis::queries ? queryRows : keyRows; }
  /// Rows of a sequence.
  dsl::Index rowsOf(Axis axis, const dsl::Index &batch) const;
  /// Where they begin among packed rows.
  dsl::Index firstRowOf(Axis axis, const dsl::Index &batch) const;
  /// Of packed sequences.
  const dsl::Global &begins(Axis axis) const { return lengthsOf(axis); }

  /// What tells one tile from the others, so that one role can find out and hand it on.
  using Fields = std::vector<dsl::Index>;
  int64_t fieldCount() const { return isUniform() ? 3 : 7; }
  /// A tile along `axis` that does not exist belongs to a sequence that has no rows along it.
  Fields fieldsOf(Axis axis, const TilePlace &place) const;
  static const dsl::Index &rowOf(const Fields &fields) { return fields[0]; }
  Sequence sequenceOf(const Fields &fields) const;

  Lengths lengths = Lengths::uniform;
  dsl::Index count;

private:
  const dsl::Global &lengthsOf(Axis axis) const { return axis == Axis::queries ? queryLengths : keyLengths; }

  dsl::Index ends; ///< of packed sequences there is one begin more than there are sequences
  dsl::Index queryRows, keyRows, ownQueryRows, ownKeyRows;
  dsl::Global queryLengths, keyLengths;
};

} // namespace tlc::kernels
