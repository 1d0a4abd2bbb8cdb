// SPDX-License-Identifier: Apache-2.0
/// \file
/// Masks of attention are programs: a rule says whether a query sees a key. Which tiles of keys a tile of
/// queries is to visit, and which tiles of queries a tile of keys, follows from it.
#pragma once

#include "kernels/attention/intervals/PositionSet.h"
#include "kernels/attention/problem/Sequences.h"

#include <functional>

namespace tlc::kernels {

/// The position of each score's row or column, of a tile of scores.
class ScorePosition : public dsl::Index {
public:
  /// `line` has the extents of one row or column of the tile, which begins at `first`.
  ScorePosition(dsl::Scope &k, const dsl::Index &ofScores, dsl::Index first, dsl::Shape line)
      : dsl::Index(ofScores), k(&k), first(std::move(first)), line(std::move(line)) {}
  /// The same position for all of them.
  explicit ScorePosition(const dsl::Index &position) : dsl::Index(position) {}

private:
  friend dsl::Index lookUp(const dsl::Global &, std::vector<dsl::Index>, const ScorePosition &, dsl::Loc);
  dsl::Scope *k = nullptr;
  dsl::Index first = {};
  dsl::Shape line = {};
};

/// Elements of a tensor of i32 for queries or keys: position 0 has the one at `origin`, the next ones follow
/// along the last axis.
dsl::Index lookUp(const dsl::Global &tensor, std::vector<dsl::Index> origin, const ScorePosition &positions,
                  dsl::Loc loc = dsl::Loc::current());
/// For a tile: of elements that grow with the position, or stay.
TileSpan lookUp(const dsl::Global &tensor, const std::vector<dsl::Index> &origin, const TileSpan &tile,
                dsl::Loc loc = dsl::Loc::current());
/// At an unknown position: any may have the element that is compared with.
UnknownElement lookUp(const dsl::Global &tensor, const std::vector<dsl::Index> &origin,
                      const UnknownPosition &position, dsl::Loc loc = dsl::Loc::current());
/// With a tensor that, for each value, says how many positions have elements up to it; it has the same
/// origin. With it positions are found for elements, too. `end`s of documents say it of their `begin`s.
template <class Position>
auto lookUp(const dsl::Global &tensor, const dsl::Global &countsUpTo, const std::vector<dsl::Index> &origin,
            const Position &position, dsl::Loc loc = dsl::Loc::current()) {
  auto element = lookUp(tensor, origin, position, loc);
  if constexpr (std::same_as<Position, UnknownPosition>)
    element.countUpTo = [=](const dsl::Index &value) {
      dsl::Index count = lookUp(countsUpTo, origin, ScorePosition(max(value, 0, loc)), loc);
      return where(value < 0, dsl::Index(0), count, loc);
    };
  return element;
}

/// In which order the tiles of a sequence's queries take longest first; it decides the order in which they
/// are computed.
enum class RowOrder : uint8_t {
  any,             ///< all take the same time, or nobody knows
  lastFirst,       ///< later queries see more
  lastOfHalfFirst, ///< in each half of the sequence
};

class Mask {
public:
  using Rule =
      std::function<dsl::Predicate(const Sequence &, const ScorePosition &query, const ScorePosition &key)>;
  /// The positions of the other axis that the rows of a tile are paired with; `some` and `all` are hulls of
  /// what the rule says.
  using Ranges = std::function<PositionSet(const Sequence &, const TileSpan &tile)>;

  Mask() = default;
  /// Ranges given by hand: keys that a tile of queries sees, and, if somebody asks for them, queries that see
  /// a tile of keys. They decide which tiles are visited and which are masked, so that they must fit.
  Mask(Rule rule, Ranges keys, RowOrder order = RowOrder::any)
      : Mask(
            std::move(rule), std::move(keys),
            [](const Sequence &, const TileSpan &) { return PositionSet::unknown(); }, order) {}
  Mask(Rule rule, Ranges keys, Ranges queries, RowOrder order = RowOrder::any)
      : visible(std::move(rule)), keysSeen(std::move(keys)), queriesSeeing(std::move(queries)), order(order) {
  }

  /// Ranges derived from the rule, which is written for any types of positions:
  ///
  ///     Mask::derived([](const Sequence &s, auto query, auto key) { return key <= query; })
  ///
  /// On either side of a comparison stands what grows with the query or what grows with the key: `key <=
  /// query + 3`, `key / 16 == query / 16`, `key >= lookUp(begins, {s.batch, 0}, query)`. A distance, `query -
  /// key` or `key - query`, is compared with a number, and so is its remainder: `(query - key) % 4 == 0`.
  /// Another rule does not compile; write the ranges by hand. Tiles of which a remainder hides every pair are
  /// not visited if the divisor is at most the extent of a tile that is visited.
  template <class F> static Mask derived(const F &rule, RowOrder order = RowOrder::any) {
    static_assert(
        requires(Sequence s, TileSpan tile) {
          PositionSet(rule(s, tile, UnknownPosition()));
          PositionSet(rule(s, UnknownPosition(), tile));
        }, "expected a rule from which ranges can be derived: comparisons with the key on one side and the "
           "query on the other, or of their distance with a number, joined by && and ||; give the ranges by "
           "hand otherwise");
    return Mask(
        rule,
        [rule](const Sequence &s, const TileSpan &queries) -> PositionSet {
          return rule(s, queries, UnknownPosition());
        },
        [rule](const Sequence &s, const TileSpan &keys) -> PositionSet {
          return rule(s, UnknownPosition(), keys);
        },
        order);
  }
  /// For rules about which nothing is known: all tiles are visited and masked.
  static Mask everywhere(Rule rule);

  /// The tiles of keys that the queries from `first` on visit, at most so many, and so many of the sequence.
  VisitedTiles tilesOfKeys(const Sequence &sequence, const dsl::Index &first, int64_t queries,
                           int64_t keysOfTile) const;
  /// The same for keys: the tiles of queries that they visit.
  VisitedTiles tilesOfQueries(const Sequence &sequence, const dsl::Index &first, int64_t keys,
                              int64_t queriesOfTile) const;

  Rule visible;
  Ranges keysSeen, queriesSeeing;
  RowOrder order = RowOrder::any;
};

/// What both see; tiles are visited in the order of `a`.
Mask operator&&(const Mask &a, const Mask &b);

/// Where a mask that reads tensors declares them: inputs of the program, after its own ones.
struct MaskScope {
  dsl::Scope &k;
  dsl::Index batches, queries, keys, heads; ///< `queries` and `keys` of packed sequences: rows of all of them
  std::optional<dsl::Index> owner = {};     ///< in a ring: the rank whose keys these are
};
using MaskMaker = std::function<Mask(const MaskScope &)>;

/// The masks that have names.
Mask maskOf(const MaskConfig &config);
/// The same for the queries of one rank, whose keys are those of whole sequences in order, or, of sequences
/// of one length, those of the rank `owner`. Not block-causal.
Mask shardedMaskOf(const MaskConfig &config, const RankRows &queries,
                   const std::optional<dsl::Index> &owner = {});
/// The one or the other.
MaskMaker maskMakerOf(const AttentionProblem &problem);

} // namespace tlc::kernels
