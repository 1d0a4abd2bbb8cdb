// SPDX-License-Identifier: Apache-2.0
/// \file
/// Masks that have names.
#include "kernels/attention/mask/Mask.h"

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Where queries and keys stand in their sequence.
struct OwnPlaces {
  auto ofQuery(const Sequence &, const auto &query) const { return query; }
  auto ofKey(const Sequence &, const auto &key) const { return key; }
  // Of the whole sequence.
  Index queries(const Sequence &s) const { return s.queries; }
  Index keys(const Sequence &s) const { return s.keys; }
};

/// Where a rank's rows from `first` on stand among those of all ranks, of `rows` rows each.
struct ContiguousRows {
  auto operator()(const Index &rows, const Index &rank, const Index &first, const auto &row) const {
    return row + (first + rank * rows);
  }
};

/// In parts of half as many rows as a rank has.
struct ZigzagRows {
  auto operator()(const Index &rows, const Index &rank, const Index &first, const auto &row) const {
    Index part = rows / 2;
    return where(row < part - first, row + (first + rank * part),
                 row + (first + (2 * ranks - 2 - rank) * part));
  }
  Index ranks;
};

/// Of a rank's queries, and of all keys.
template <class Rows> struct PlacesAmongAll : OwnPlaces {
  auto ofQuery(const Sequence &s, const auto &query) const {
    return placeOf(own.rows, own.rank, s.firstQuery, query) - s.begin;
  }
  Index queries(const Sequence &s) const { return s.allQueries; }
  Rows placeOf;
  RankRows own;
};

/// Of a rank's queries, and of the keys of rank `owner`.
template <class Rows> struct PlacesOfRanks : PlacesAmongAll<Rows> {
  auto ofKey(const Sequence &s, const auto &key) const { return this->placeOf(s.keys, owner, Index(0), key); }
  Index keys(const Sequence &s) const { return this->own.ranks * s.keys; }
  Index owner;
};

/// Where a query stands among the keys.
auto aligned(CausalAlignment alignment, const auto &places, const Sequence &s, const auto &query) {
  return places.ofQuery(s, query) +
         (alignment == CausalAlignment::right ? places.keys(s) - places.queries(s) : Index(0));
}

Mask full() {
  return Mask([](const Sequence &, const Index &, const Index &) { return Predicate(true); },
              [](const Sequence &, const TileSpan &) { return PositionSet::everything(); },
              [](const Sequence &, const TileSpan &) { return PositionSet::everything(); });
}

Mask causal(CausalAlignment alignment, const auto &places) {
  return Mask::derived([=](const Sequence &s, auto query,
                           auto key) { return places.ofKey(s, key) <= aligned(alignment, places, s, query); },
                       RowOrder::lastFirst); // the second part of a rank's rows is later than the first one
}

Mask before(CausalAlignment alignment, const auto &places, int64_t distance) {
  return Mask::derived([=](const Sequence &s, auto query, auto key) {
    return places.ofKey(s, key) >= aligned(alignment, places, s, query) - distance;
  });
}

Mask after(CausalAlignment alignment, const auto &places, int64_t distance) {
  return Mask::derived([=](const Sequence &s, auto query, auto key) {
    return places.ofKey(s, key) <= aligned(alignment, places, s, query) + distance;
  });
}

/// The first half of a sequence is a noisy copy of the second: a noisy query sees its own block of noisy keys
/// and clean blocks before its own, a clean query clean blocks up to its own.
Mask blockCausal(int64_t block) {
  return Mask::derived(
      [=](const Sequence &s, auto query, auto key) {
        Index half = s.keys / 2;
        auto isNoisy = query < half;
        auto cleanBlocks = where(isNoisy, query / block, (query - half) / block + 1); // that it sees
        return (isNoisy && key < half && key / block == query / block) ||
               (key >= half && (key - half) / block < cleanBlocks);
      },
      RowOrder::lastOfHalfFirst);
}

Mask maskOf(const MaskConfig &config, const auto &places) {
  // Without a causal mask a query stands where the last one is at the last key.
  CausalAlignment alignment =
      config.causal == CausalAlignment::left ? CausalAlignment::left : CausalAlignment::right;
  Mask mask = config.blockCausal                       ? blockCausal(*config.blockCausal)
              : config.causal != CausalAlignment::none ? causal(alignment, places)
                                                       : full();
  if (config.windowLeft)
    mask = mask && before(alignment, places, *config.windowLeft);
  if (config.windowRight)
    mask = mask && after(alignment, places, *config.windowRight);
  return mask;
}

template <class Rows>
Mask shardedMaskOf(const MaskConfig &config, const Rows &rows, const RankRows &queries,
                   const std::optional<Index> &owner) {
  PlacesAmongAll<Rows> amongAll{{}, rows, queries};
  return owner ? maskOf(config, PlacesOfRanks<Rows>{amongAll, *owner}) : maskOf(config, amongAll);
}

} // namespace

Mask maskOf(const MaskConfig &config) { return maskOf(config, OwnPlaces()); }

Mask shardedMaskOf(const MaskConfig &config, const RankRows &queries, const std::optional<Index> &owner) {
  return queries.order == ShardOrder::contiguous
             ? shardedMaskOf(config, ContiguousRows(), queries, owner)
             : shardedMaskOf(config, ZigzagRows{queries.ranks}, queries, owner);
}

MaskMaker maskMakerOf(const AttentionProblem &problem) {
  // Where heads are exchanged, a rank has whole sequences.
  auto shards = problem.exchangesHeads() ? std::nullopt : problem.shards;
  return [config = problem.mask, shards](const MaskScope &scope) {
    return shards
               ? shardedMaskOf(config, {*shards, scope.k.rank(), scope.k.ranks(), scope.queries}, scope.owner)
               : maskOf(config);
  };
}

} // namespace tlc::kernels
