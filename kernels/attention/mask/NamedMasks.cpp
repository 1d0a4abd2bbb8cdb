// SPDX-License-Identifier: Apache-2.0
/// \file
/// Masks that have names.
#include "kernels/attention/mask/Mask.h"

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Where queries stand in their sequence.
struct OwnPlace {
  auto operator()(const Sequence &, const auto &query) const { return query; }
  Index queries(const Sequence &s) const { return s.queries; } ///< of the whole sequence
};

struct ContiguousPlace {
  auto operator()(const Sequence &s, const auto &query) const { return query + rank * s.queries; }
  Index queries(const Sequence &s) const { return ranks * s.queries; }
  Index rank, ranks;
};

/// With parts of half as many queries as a rank has.
struct ZigzagPlace {
  auto operator()(const Sequence &s, const auto &query) const {
    Index part = s.queries / 2;
    return where(query < part, query + rank * part, query + (2 * ranks - 2 - rank) * part);
  }
  Index queries(const Sequence &s) const { return ranks * s.queries; }
  Index rank, ranks;
};

/// Where a query stands among the keys.
auto aligned(CausalAlignment alignment, const auto &placeOf, const Sequence &s, const auto &query) {
  return placeOf(s, query) + (alignment == CausalAlignment::right ? s.keys - placeOf.queries(s) : Index(0));
}

Mask full() {
  return Mask([](const Sequence &, const Index &, const Index &) { return Predicate(true); },
              [](const Sequence &, const TileSpan &) { return PositionSet::everything(); },
              [](const Sequence &, const TileSpan &) { return PositionSet::everything(); });
}

Mask causal(CausalAlignment alignment, const auto &placeOf) {
  return Mask::derived(
      [=](const Sequence &s, auto query, auto key) { return key <= aligned(alignment, placeOf, s, query); },
      RowOrder::lastFirst); // the second part of a rank's rows is later than the first one
}

Mask before(CausalAlignment alignment, const auto &placeOf, int64_t distance) {
  return Mask::derived([=](const Sequence &s, auto query, auto key) {
    return key >= aligned(alignment, placeOf, s, query) - distance;
  });
}

Mask after(CausalAlignment alignment, const auto &placeOf, int64_t distance) {
  return Mask::derived([=](const Sequence &s, auto query, auto key) {
    return key <= aligned(alignment, placeOf, s, query) + distance;
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

Mask maskOf(const MaskConfig &config, const auto &placeOf) {
  // Without a causal mask a query stands where the last one is at the last key.
  CausalAlignment alignment =
      config.causal == CausalAlignment::left ? CausalAlignment::left : CausalAlignment::right;
  Mask mask = config.blockCausal                       ? blockCausal(*config.blockCausal)
              : config.causal != CausalAlignment::none ? causal(alignment, placeOf)
                                                       : full();
  if (config.windowLeft)
    mask = mask && before(alignment, placeOf, *config.windowLeft);
  if (config.windowRight)
    mask = mask && after(alignment, placeOf, *config.windowRight);
  return mask;
}

} // namespace

Mask maskOf(const MaskConfig &config) { return maskOf(config, OwnPlace()); }

Mask shardedMaskOf(const MaskConfig &config, ShardOrder order, const Index &rank, const Index &ranks) {
  if (order == ShardOrder::contiguous)
    return maskOf(config, ContiguousPlace{rank, ranks});
  return maskOf(config, ZigzagPlace{rank, ranks});
}

MaskMaker maskMakerOf(const AttentionProblem &problem) {
  // Where heads are exchanged, a rank has whole sequences.
  auto shards = problem.gathersKeys() ? problem.shards : std::nullopt;
  return [config = problem.mask, shards](const MaskScope &scope) {
    return shards ? shardedMaskOf(config, *shards, scope.k.rank(), scope.k.ranks()) : maskOf(config);
  };
}

} // namespace tlc::kernels
