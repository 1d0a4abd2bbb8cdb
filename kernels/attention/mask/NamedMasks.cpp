// SPDX-License-Identifier: Apache-2.0
/// \file
/// Masks that have names.
#include "kernels/attention/mask/Mask.h"

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Where a query stands among the keys.
template <class Query> auto aligned(CausalAlignment alignment, const Sequence &s, const Query &query) {
  return query + (alignment == CausalAlignment::right ? s.keys - s.queries : Index(0));
}

Mask full() {
  return Mask([](const Sequence &, const Index &, const Index &) { return Predicate(true); },
              [](const Sequence &, const TileSpan &) { return PositionSet::everything(); },
              [](const Sequence &, const TileSpan &) { return PositionSet::everything(); });
}

Mask causal(CausalAlignment alignment) {
  return Mask::derived(
      [=](const Sequence &s, auto query, auto key) { return key <= aligned(alignment, s, query); },
      RowOrder::lastFirst);
}

Mask before(CausalAlignment alignment, int64_t distance) {
  return Mask::derived([=](const Sequence &s, auto query, auto key) {
    return key >= aligned(alignment, s, query) - distance;
  });
}

Mask after(CausalAlignment alignment, int64_t distance) {
  return Mask::derived([=](const Sequence &s, auto query, auto key) {
    return key <= aligned(alignment, s, query) + distance;
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

} // namespace

Mask maskOf(const MaskConfig &config) {
  // Without a causal mask a query stands where the last one is at the last key.
  CausalAlignment alignment =
      config.causal == CausalAlignment::left ? CausalAlignment::left : CausalAlignment::right;
  Mask mask = config.blockCausal                       ? blockCausal(*config.blockCausal)
              : config.causal != CausalAlignment::none ? causal(alignment)
                                                       : full();
  if (config.windowLeft)
    mask = mask && before(alignment, *config.windowLeft);
  if (config.windowRight)
    mask = mask && after(alignment, *config.windowRight);
  return mask;
}

} // namespace tlc::kernels
