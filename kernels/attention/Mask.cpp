// SPDX-License-Identifier: Apache-2.0
/// \file
/// Masks that have names.
#include "kernels/attention/Mask.h"

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Where a query stands among the keys.
template <class Query> Query aligned(CausalAlignment alignment, const Sequence &s, const Query &query) {
  return alignment == CausalAlignment::right ? query + (s.keys - s.queries) : query;
}

Mask full() {
  return Mask([](const Sequence &, const Index &, const Index &) { return Predicate(true); },
              [](const Sequence &, const QueryRange &) { return KeySet{{KeyPart()}}; });
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

Mask behind(CausalAlignment alignment, int64_t distance) {
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

Mask Mask::everywhere(Rule rule) {
  return Mask(std::move(rule), [](const Sequence &, const QueryRange &) {
    KeyPart part;
    part.all.end = Index(0);
    return KeySet{{part}};
  });
}

Mask operator&&(const Mask &a, const Mask &b) {
  return Mask(
      [=](const Sequence &s, const Index &query, const Index &key) {
        return a.visible(s, query, key) && b.visible(s, query, key);
      },
      [=](const Sequence &s, const QueryRange &queries) { return a.seen(s, queries) && b.seen(s, queries); },
      a.order);
}

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
    mask = mask && behind(alignment, *config.windowRight);
  return mask;
}

} // namespace tlc::kernels
