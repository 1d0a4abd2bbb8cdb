// SPDX-License-Identifier: Apache-2.0
/// \file
/// Masks of attention are programs: a rule says whether a query sees a key, and which tiles of keys are to be
/// visited follows from it.
#pragma once

#include "kernels/attention/mask/KeySet.h"
#include "kernels/reference/Attention.h"

#include <functional>

namespace tlc::kernels {

/// What a rule may depend on besides the positions of query and key, which count from 0.
struct Sequence {
  dsl::Index batch, head;
  dsl::Index queries, keys;                ///< their numbers
  dsl::Index firstQuery = 0, firstKey = 0; ///< where they begin among packed rows
};

/// The positions of a tile's queries or keys: for each of its scores, that of its row or column.
class Positions : public dsl::Index {
public:
  /// `line` has the extents of one row or column of the tile, which begins at `first`.
  Positions(dsl::Scope &k, const dsl::Index &ofScores, dsl::Index first, dsl::Shape line)
      : dsl::Index(ofScores), k(&k), first(std::move(first)), line(std::move(line)) {}
  /// The same position for all of them.
  explicit Positions(const dsl::Index &position) : dsl::Index(position) {}

private:
  friend dsl::Index lookUp(const dsl::Global &, std::vector<dsl::Index>, const Positions &, dsl::Loc);
  dsl::Scope *k = nullptr;
  dsl::Index first = {};
  dsl::Shape line = {};
};

/// Elements of a tensor of i32 for queries or keys: position 0 has the one at `origin`, the next ones follow
/// along the last axis.
dsl::Index lookUp(const dsl::Global &tensor, std::vector<dsl::Index> origin, const Positions &positions,
                  dsl::Loc loc = dsl::Loc::current());
/// For a range of queries: of elements that grow with the query, or stay.
QueryRange lookUp(const dsl::Global &tensor, std::vector<dsl::Index> origin, const QueryRange &queries,
                  dsl::Loc loc = dsl::Loc::current());

/// In which order the tiles of a sequence's queries take longest first; it decides the order in which they
/// are computed.
enum class RowOrder : uint8_t {
  any,             ///< all take the same time, or nobody knows
  lastFirst,       ///< later queries see more
  lastOfHalfFirst, ///< in each half of the sequence
};

class Mask {
public:
  using Rule = std::function<dsl::Predicate(const Sequence &, const Positions &query, const Positions &key)>;
  /// Which keys the queries of a tile see; `some` and `all` are hulls of what the rule says.
  using Ranges = std::function<KeySet(const Sequence &, const QueryRange &queries)>;

  Mask() = default;
  /// Ranges given by hand. They decide which tiles are visited and which are masked, so that they must fit.
  Mask(Rule rule, Ranges ranges, RowOrder order = RowOrder::any)
      : visible(std::move(rule)), seen(std::move(ranges)), order(order) {}

  /// Ranges derived from the rule, which is written for any types of positions:
  ///
  ///     Mask::derived([](const Sequence &s, auto query, auto key) { return key <= query; })
  ///
  /// On either side of a comparison stands what grows with the query or what grows with the key: `key <=
  /// query + 3`, `key / 16 == query / 16`, `key >= lookUp(begins, {s.batch, 0}, query)`, not `query - key <
  /// 3`. Such a rule does not compile; write the ranges by hand.
  template <class F> static Mask derived(F rule, RowOrder order = RowOrder::any) {
    static_assert(
        requires(Sequence s, QueryRange queries) { KeySet(rule(s, queries, KeyTerm())); },
        "expected a rule from which ranges of keys can be derived: comparisons with the key on one side and "
        "the "
        "query on the other, joined by && and ||; give the ranges by hand otherwise");
    return Mask(
        rule, [rule](const Sequence &s, const QueryRange &queries) { return rule(s, queries, KeyTerm()); },
        order);
  }
  /// For rules about which nothing is known: all tiles are visited and masked.
  static Mask everywhere(Rule rule);

  Rule visible;
  Ranges seen;
  RowOrder order = RowOrder::any;
};

/// What both see; tiles are visited in the order of `a`.
Mask operator&&(const Mask &a, const Mask &b);

/// Where a mask that reads tensors declares them: inputs of the program, behind its own ones.
struct MaskScope {
  dsl::Scope &k;
  dsl::Index batches, queries, keys, heads; ///< `queries` and `keys` of packed sequences: rows of all of them
};
using MaskMaker = std::function<Mask(const MaskScope &)>;

/// The masks that have names.
Mask maskOf(const MaskConfig &config);

} // namespace tlc::kernels
