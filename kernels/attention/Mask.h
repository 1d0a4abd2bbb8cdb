// SPDX-License-Identifier: Apache-2.0
/// \file
/// Masks of attention are programs: a rule says whether a query sees a key, and which tiles of keys are to be
/// visited follows from it.
#pragma once

#include "kernels/attention/KeySet.h"
#include "kernels/reference/Attention.h"

#include <functional>

namespace tlc::kernels {

/// What a rule may depend on besides the positions of query and key, which count from 0.
struct Sequence {
  dsl::Index batch, head;
  dsl::Index queries, keys; ///< their numbers
};

/// In which order the tiles of a sequence's queries take longest first.
enum class RowOrder : uint8_t {
  any,             ///< all take the same time
  lastFirst,       ///< later queries see more
  lastOfHalfFirst, ///< in each half of the sequence
};

class Mask {
public:
  using Rule =
      std::function<dsl::Predicate(const Sequence &, const dsl::Index &query, const dsl::Index &key)>;
  /// Which keys the queries of a tile see; `some` and `all` are hulls of what the rule says.
  using Ranges = std::function<KeySet(const Sequence &, const QueryRange &queries)>;

  /// Ranges given by hand. They decide which tiles are visited and which are masked, so that they must fit.
  Mask(Rule rule, Ranges ranges, RowOrder order = RowOrder::any)
      : visible(std::move(rule)), seen(std::move(ranges)), order(order) {}

  /// Ranges derived from the rule, which is written for any types of positions:
  ///
  ///     Mask::derived([](const Sequence &s, auto query, auto key) { return key <= query; })
  ///
  /// On either side of a comparison stands what grows with the query or what grows with the key: `key <=
  /// query + 3`, `key / 16 == query / 16`, not `query - key < 3`. Such a rule does not compile; write the
  /// ranges by hand.
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
  RowOrder order;
};

/// What both see; tiles are visited in the order of `a`.
Mask operator&&(const Mask &a, const Mask &b);

/// The masks that have names.
Mask maskOf(const MaskConfig &config);

} // namespace tlc::kernels
