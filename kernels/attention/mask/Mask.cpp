// SPDX-License-Identifier: Apache-2.0
/// \file
/// Masks that have names.
#include "kernels/attention/mask/Mask.h"

#include <algorithm>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// Where a query stands among the keys.
template <class Query> auto aligned(CausalAlignment alignment, const Sequence &s, const Query &query) {
  return query + (alignment == CausalAlignment::right ? s.keys - s.queries : Index(0));
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

namespace {
Index elementAt(const Global &tensor, std::vector<Index> origin, const Index &position, Loc loc) {
  if (!origin.empty())
    origin.back() = origin.back() + position;
  return tensor.read(origin, loc);
}
} // namespace

Index lookUp(const Global &tensor, std::vector<Index> origin, const Positions &positions, Loc loc) {
  if (!positions.k)
    return elementAt(tensor, origin, positions, loc);
  Fragment elements = positions.k->fragment(i32, positions.line);
  Shape box(origin.size(), 1);
  if (!origin.empty()) {
    origin.back() = origin.back() + positions.first;
    box.back() = std::max(positions.line[0], positions.line[1]);
  }
  copy(tensor.tile(origin, box, loc), elements, loc);
  return FragmentValue(elements, loc).toIndex(loc);
}

QueryRange lookUp(const Global &tensor, std::vector<Index> origin, const QueryRange &queries, Loc loc) {
  return {elementAt(tensor, origin, queries.first, loc), elementAt(tensor, origin, queries.last, loc)};
}

Mask Mask::everywhere(Rule rule) {
  return Mask(std::move(rule), [](const Sequence &, const QueryRange &) {
    KeyPart part;
    part.all.end = Index(0);
    return KeySet{{part}};
  });
}

Mask operator&&(const Mask &a, const Mask &b) {
  return Mask(
      [=](const Sequence &s, const Positions &query, const Positions &key) {
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
