// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which keys a tile of queries sees, derived from the rule for one query and one key: a rule written for any
/// types of positions (`[](auto query, auto key) { return key <= query; }`) is applied to a range of queries
/// and to the key as an unknown, and gives ranges of keys instead of a truth value.
#pragma once

#include "compiler/dsl/dsl.h"

#include <optional>
#include <vector>

namespace tlc::kernels {

/// Keys from `begin` to before `end`; a missing bound bounds nothing.
struct KeyRange {
  std::optional<dsl::Index> begin = {}, end = {};
};

/// For a tile of queries: keys that some query sees lie in `some`, and those in `all` every query sees.
struct KeyPart {
  KeyRange some, all;
};

/// The union of parts, which may overlap.
struct KeySet {
  std::vector<KeyPart> parts;
};
KeySet operator&&(const KeySet &a, const KeySet &b);
KeySet operator||(const KeySet &a, const KeySet &b);

/// A condition on queries alone.
struct QueryCondition {
  dsl::Predicate some, all; ///< whether it holds for some query of the tile, and for all
};
QueryCondition operator&&(const QueryCondition &a, const QueryCondition &b);
QueryCondition operator||(const QueryCondition &a, const QueryCondition &b);
KeySet operator&&(const QueryCondition &a, const KeySet &b);
KeySet operator&&(const KeySet &a, const QueryCondition &b);

/// What grows with the query: its value for the tile's first query and for the last.
struct QueryRange {
  dsl::Index first, last;
};
QueryRange operator+(const QueryRange &a, const dsl::Index &b);
QueryRange operator-(const QueryRange &a, const dsl::Index &b);
/// `b` is positive, and so is `a` where the result matters.
QueryRange operator/(const QueryRange &a, const dsl::Index &b);
/// The larger and the smaller of both choices count where the tile's queries choose differently.
QueryRange where(const QueryCondition &condition, const QueryRange &a, const QueryRange &b);

/// (key + shift) / divisor + offset, rounded down.
struct KeyTerm {
  dsl::Index shift = 0, divisor = 1, offset = 0;
};
KeyTerm operator+(const KeyTerm &a, const dsl::Index &b);
KeyTerm operator-(const KeyTerm &a, const dsl::Index &b);
/// Positive, and of a term that has not been divided yet.
KeyTerm operator/(const KeyTerm &a, const dsl::Index &b);

KeySet operator<=(const KeyTerm &key, const QueryRange &bound);
KeySet operator>=(const KeyTerm &key, const QueryRange &bound);
KeySet operator==(const KeyTerm &key, const QueryRange &value);
inline KeySet operator<(const KeyTerm &key, const QueryRange &bound) { return key <= bound - 1; }
inline KeySet operator>(const KeyTerm &key, const QueryRange &bound) { return key >= bound + 1; }
inline KeySet operator<=(const KeyTerm &key, const dsl::Index &bound) {
  return key <= QueryRange{bound, bound};
}
inline KeySet operator>=(const KeyTerm &key, const dsl::Index &bound) {
  return key >= QueryRange{bound, bound};
}
inline KeySet operator<(const KeyTerm &key, const dsl::Index &bound) {
  return key < QueryRange{bound, bound};
}
inline KeySet operator>(const KeyTerm &key, const dsl::Index &bound) {
  return key > QueryRange{bound, bound};
}
inline KeySet operator<=(const QueryRange &a, const KeyTerm &b) { return b >= a; }
inline KeySet operator>=(const QueryRange &a, const KeyTerm &b) { return b <= a; }
inline KeySet operator<(const QueryRange &a, const KeyTerm &b) { return b > a; }
inline KeySet operator>(const QueryRange &a, const KeyTerm &b) { return b < a; }
inline KeySet operator==(const QueryRange &a, const KeyTerm &b) { return b == a; }
inline QueryCondition operator<(const QueryRange &a, const dsl::Index &b) {
  return {a.first < b, a.last < b};
}
inline QueryCondition operator>=(const QueryRange &a, const dsl::Index &b) {
  return {a.last >= b, a.first >= b};
}
inline QueryCondition operator<=(const QueryRange &a, const dsl::Index &b) { return a < b + 1; }
inline QueryCondition operator>(const QueryRange &a, const dsl::Index &b) { return a >= b + 1; }

/// The tiles of keys that a tile of queries is to visit, each once: those that need the mask first, then
/// those that every query sees whole.
class KeyTiles {
public:
  KeyTiles() = default;
  KeyTiles(const KeySet &seen, const dsl::Index &keys, int64_t keysOfTile);

  /// The tile that is visited as number `i`.
  dsl::Index at(const dsl::Index &i) const;

  /// One tile, to be masked, instead of none: for a schedule that begins with one.
  KeyTiles orOne() const;

  dsl::Index count;
  dsl::Index edges; ///< of these, the first ones, which need the mask

private:
  /// Tiles from `begin` to before `end`, visited last to first.
  struct Run {
    dsl::Index begin, end;
  };
  /// A part in tiles: `whole` is within `visited`.
  struct Part {
    Run visited, whole;
  };
  static Part partOf(const KeyPart &part, const dsl::Index &keys, int64_t keysOfTile);
  static void makeDisjoint(std::vector<Part> &parts);

  std::vector<Run> runs; ///< in the order of visits
};

} // namespace tlc::kernels
