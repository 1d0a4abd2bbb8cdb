// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which keys a tile of queries sees, and which queries see a tile of keys, derived from the rule for one
/// query and one key: a rule written for any types of positions (`[](auto query, auto key) { return key <=
/// query; }`) is applied to the span of a tile along one axis and to the position along the other axis as an
/// unknown, and gives sets of that axis' positions instead of a truth value. Nothing here knows which of the
/// two axes is which.
#pragma once

#include "compiler/dsl/dsl.h"

#include <concepts>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace tlc::kernels {

/// Positions from `begin` to before `end`; a missing bound bounds nothing.
struct PositionRange {
  std::optional<dsl::Index> begin = {}, end = {};
  /// The range of no position, which begins at 0.
  static PositionRange nothing() { return {.end = dsl::Index(0)}; }
};

/// What grows with a position of the tile: its value for the tile's first one and for the last.
struct TileSpan {
  /// Of a tile of so many positions, of which those from `end` on do not exist.
  static TileSpan of(const dsl::Index &first, int64_t positions, const dsl::Index &end);

  dsl::Index first, last;
  std::optional<dsl::Index> shift = {}; ///< the value is the position and so much; not known of other values
};

/// What is known of distances, position - row, of the pairs of a part.
struct Distances {
  /// They leave this remainder when they are divided by `step`, which is positive.
  struct Dilation {
    TileSpan rows;
    dsl::Index step, remainder;
  };

  std::optional<dsl::Index> least = {}, most = {};
  std::optional<Dilation> dilation = {};
};

/// For a tile of the other axis: positions that some row of it pairs with lie in `some`, and those in `all`
/// every row pairs with.
struct PositionPart {
  PositionRange some, all;
  Distances distances = {};
};

/// A condition on the tile alone.
struct TileCondition {
  dsl::Predicate some, all; ///< whether it holds for some row of the tile, and for all
};
TileCondition operator&&(const TileCondition &a, const TileCondition &b);
TileCondition operator||(const TileCondition &a, const TileCondition &b);
TileCondition operator!(const TileCondition &a);

/// The union of parts, which may overlap.
struct PositionSet {
  PositionSet() = default;
  PositionSet(std::vector<PositionPart> parts) : parts(std::move(parts)) {}
  /// All positions where the condition holds, else none.
  PositionSet(const TileCondition &condition);
  static PositionSet everything() { return std::vector<PositionPart>(1); }
  /// Any positions may be in it.
  static PositionSet unknown() {
    return std::vector<PositionPart>{{.some = {}, .all = PositionRange::nothing()}};
  }

  std::vector<PositionPart> parts;
};
PositionSet operator&&(const PositionSet &a, const PositionSet &b);
PositionSet operator||(const PositionSet &a, const PositionSet &b);
PositionSet operator&&(const TileCondition &a, const PositionSet &b);
PositionSet operator&&(const PositionSet &a, const TileCondition &b);
PositionSet operator!(const PositionSet &a);

//===----------------------------------------------------------------------===//
// What a rule compares
//===----------------------------------------------------------------------===//

TileSpan operator+(const TileSpan &a, const dsl::Index &b);
TileSpan operator-(const TileSpan &a, const dsl::Index &b);
/// `b` is positive, and so is `a` where the result matters.
TileSpan operator/(const TileSpan &a, const dsl::Index &b);
/// The larger and the smaller of both choices count where the tile's rows choose differently.
TileSpan where(const TileCondition &condition, const TileSpan &a, const TileSpan &b);
inline TileSpan where(const TileCondition &condition, const dsl::Index &a, const dsl::Index &b) {
  return where(condition, TileSpan{a, a}, TileSpan{b, b});
}
inline TileSpan where(const TileCondition &condition, const TileSpan &a, const dsl::Index &b) {
  return where(condition, a, TileSpan{b, b});
}
inline TileSpan where(const TileCondition &condition, const dsl::Index &a, const TileSpan &b) {
  return where(condition, TileSpan{a, a}, b);
}

inline TileCondition operator<(const TileSpan &a, const dsl::Index &b) { return {a.first < b, a.last < b}; }
inline TileCondition operator>=(const TileSpan &a, const dsl::Index &b) {
  return {a.last >= b, a.first >= b};
}
inline TileCondition operator<=(const TileSpan &a, const dsl::Index &b) { return a < b + 1; }
inline TileCondition operator>(const TileSpan &a, const dsl::Index &b) { return a >= b + 1; }
inline TileCondition operator==(const TileSpan &a, const dsl::Index &b) { return a <= b && a >= b; }

/// The unknown: (position + shift) / divisor + offset, rounded down.
struct UnknownPosition {
  dsl::Index shift = 0, divisor = 1, offset = 0;

  PositionSet atMost(const TileSpan &bound) const;
  PositionSet atLeast(const TileSpan &bound) const;
};
UnknownPosition operator+(const UnknownPosition &a, const dsl::Index &b);
/// Positive, and of an unknown that has not been divided yet.
UnknownPosition operator/(const UnknownPosition &a, const dsl::Index &b);

/// The distance from a row of the tile to the unknown, or from the unknown to the row. Distances are compared
/// with numbers.
struct UnknownDistance {
  UnknownPosition position;
  TileSpan rows;
  bool isFromRow;

  PositionSet atMost(const dsl::Index &bound) const;
  PositionSet atLeast(const dsl::Index &bound) const;
};
inline UnknownDistance operator-(const UnknownPosition &a, const TileSpan &b) { return {a, b, true}; }
inline UnknownDistance operator-(const TileSpan &a, const UnknownPosition &b) { return {b, a, false}; }
inline PositionSet operator<=(const UnknownDistance &a, const dsl::Index &b) { return a.atMost(b); }
inline PositionSet operator>=(const UnknownDistance &a, const dsl::Index &b) { return a.atLeast(b); }
inline PositionSet operator<(const UnknownDistance &a, const dsl::Index &b) { return a.atMost(b - 1); }
inline PositionSet operator>(const UnknownDistance &a, const dsl::Index &b) { return a.atLeast(b + 1); }
inline PositionSet operator==(const UnknownDistance &a, const dsl::Index &b) {
  return a.atMost(b) && a.atLeast(b);
}

/// What distances leave when they are divided by a positive number.
struct UnknownRemainder {
  UnknownDistance distance;
  dsl::Index divisor;
};
inline UnknownRemainder operator%(const UnknownDistance &a, const dsl::Index &b) { return {a, b}; }
PositionSet operator==(const UnknownRemainder &a, const dsl::Index &b);

/// An element, found at the unknown position, of a tensor whose elements grow with the position or stay.
struct UnknownElement {
  UnknownPosition position;
  /// How many positions have an element up to a value; without it nothing is known.
  std::function<dsl::Index(const dsl::Index &value)> countUpTo = {};

  PositionSet atMost(const TileSpan &bound) const;
  PositionSet atLeast(const TileSpan &bound) const;
};

/// Several values, of which a condition on the unknown chooses one: what `where` gives.
struct UnknownChoice {
  struct Case {
    PositionSet holds;
    std::variant<UnknownPosition, dsl::Index> value;
  };
  std::vector<Case> cases;

  PositionSet atMost(const TileSpan &bound) const;
  PositionSet atLeast(const TileSpan &bound) const;
};
UnknownChoice operator+(const UnknownChoice &a, const dsl::Index &b);
UnknownChoice operator/(const UnknownChoice &a, const dsl::Index &b);

namespace detail {
UnknownChoice choose(const PositionSet &condition, const UnknownChoice &a, const UnknownChoice &b);
inline UnknownChoice asChoice(const UnknownChoice &choice) { return choice; }
UnknownChoice asChoice(std::variant<UnknownPosition, dsl::Index> value);
} // namespace detail

template <class T>
concept Unknown =
    std::same_as<T, UnknownPosition> || std::same_as<T, UnknownElement> || std::same_as<T, UnknownChoice>;
template <class T>
concept UnknownOrNumber =
    std::same_as<T, UnknownPosition> || std::same_as<T, UnknownChoice> || std::convertible_to<T, dsl::Index>;

template <std::same_as<PositionSet> Set, UnknownOrNumber A, UnknownOrNumber B>
UnknownChoice where(const Set &condition, const A &a, const B &b) {
  return detail::choose(condition, detail::asChoice(a), detail::asChoice(b));
}
template <Unknown T> auto operator-(const T &a, const dsl::Index &b) { return a + (0 - b); }

template <Unknown T> PositionSet operator<=(const T &a, const TileSpan &b) { return a.atMost(b); }
template <Unknown T> PositionSet operator>=(const T &a, const TileSpan &b) { return a.atLeast(b); }
template <Unknown T> PositionSet operator==(const T &a, const TileSpan &b) { return a <= b && a >= b; }
template <Unknown T> PositionSet operator<(const T &a, const TileSpan &b) { return a <= b - 1; }
template <Unknown T> PositionSet operator>(const T &a, const TileSpan &b) { return a >= b + 1; }
template <Unknown T> PositionSet operator<=(const T &a, const dsl::Index &b) { return a <= TileSpan{b, b}; }
template <Unknown T> PositionSet operator>=(const T &a, const dsl::Index &b) { return a >= TileSpan{b, b}; }
template <Unknown T> PositionSet operator==(const T &a, const dsl::Index &b) { return a == TileSpan{b, b}; }
template <Unknown T> PositionSet operator<(const T &a, const dsl::Index &b) { return a < TileSpan{b, b}; }
template <Unknown T> PositionSet operator>(const T &a, const dsl::Index &b) { return a > TileSpan{b, b}; }
template <Unknown T> PositionSet operator<=(const TileSpan &a, const T &b) { return b >= a; }
template <Unknown T> PositionSet operator==(const TileSpan &a, const T &b) { return b == a; }
template <Unknown T> PositionSet operator>=(const TileSpan &a, const T &b) { return b <= a; }
template <Unknown T> PositionSet operator<(const TileSpan &a, const T &b) { return b > a; }
template <Unknown T> PositionSet operator>(const TileSpan &a, const T &b) { return b < a; }

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The tiles along one axis that a tile of the other axis is to visit, each once: the partial ones first,
/// which need the mask, then the full ones, of which every pair is visible. The others are empty.
class VisitedTiles {
public:
  VisitedTiles() = default;
  /// Of an axis of so many positions.
  VisitedTiles(const PositionSet &seen, const dsl::Index &positions, int64_t positionsOfTile);

  /// The tile that is visited as number `i`.
  dsl::Index at(const dsl::Index &i) const;

  /// One tile, to be masked, instead of none: for a schedule that begins with one.
  VisitedTiles atLeastOne() const;
  /// The same from the first to the last, so that partial ones may come anywhere; `isPartial` tells.
  VisitedTiles ascending() const;

  /// Whether the tile that is visited as number `i` needs the mask.
  dsl::Predicate isPartial(const dsl::Index &i) const;
  /// Whether the tile is visited.
  dsl::Predicate contains(const dsl::Index &tile) const;

  dsl::Index count;
  dsl::Index partial; ///< of these, the first ones

private:
  /// Tiles from `begin` to before `end`, visited last to first if they are not to ascend.
  struct Run {
    dsl::Index begin, end;
    bool isWhole = false;
  };
  /// A part in tiles: `whole` is within `visited`.
  struct Part {
    Run visited, whole;
  };
  static Part partOf(const PositionPart &part, const dsl::Index &positions, int64_t positionsOfTile);
  static void makeDisjoint(std::vector<Part> &parts);

  std::vector<Run> runs;   ///< in the order of visits
  std::vector<Part> parts; ///< disjoint, by their beginnings
  bool ascends = false;
};

} // namespace tlc::kernels
