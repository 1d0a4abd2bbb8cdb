// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of tensors that masks read, combinations of masks, and the tiles that they visit.
#include "kernels/attention/mask/Mask.h"

#include <algorithm>

namespace tlc::kernels {

using namespace dsl;

namespace {
Index elementAt(const Global &tensor, std::vector<Index> origin, const Index &position, Loc loc) {
  if (!origin.empty())
    origin.back() = origin.back() + position;
  return tensor.read(origin, loc);
}
} // namespace

Index lookUp(const Global &tensor, std::vector<Index> origin, const ScorePosition &positions, Loc loc) {
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

TileSpan lookUp(const Global &tensor, const std::vector<Index> &origin, const TileSpan &tile, Loc loc) {
  return {elementAt(tensor, origin, tile.first, loc), elementAt(tensor, origin, tile.last, loc)};
}

UnknownElement lookUp(const Global &, const std::vector<Index> &, const UnknownPosition &position, Loc) {
  return {.position = position};
}

Mask Mask::everywhere(Rule rule) {
  return Mask(std::move(rule), [](const Sequence &, const TileSpan &) { return PositionSet::unknown(); });
}

Mask operator&&(const Mask &a, const Mask &b) {
  return Mask([=](const Sequence &s, const ScorePosition &query,
                  const ScorePosition &key) { return a.visible(s, query, key) && b.visible(s, query, key); },
              [=](const Sequence &s, const TileSpan &queries) {
                return a.keysSeen(s, queries) && b.keysSeen(s, queries);
              },
              [=](const Sequence &s, const TileSpan &keys) {
                return a.queriesSeeing(s, keys) && b.queriesSeeing(s, keys);
              },
              a.order);
}

VisitedTiles Mask::tilesOfKeys(const Sequence &sequence, const Index &first, int64_t queries,
                               int64_t keysOfTile) const {
  return VisitedTiles(keysSeen(sequence, TileSpan::of(first, queries, sequence.queries)), sequence.keys,
                      keysOfTile);
}

VisitedTiles Mask::tilesOfQueries(const Sequence &sequence, const Index &first, int64_t keys,
                                  int64_t queriesOfTile) const {
  return VisitedTiles(queriesSeeing(sequence, TileSpan::of(first, keys, sequence.keys)), sequence.queries,
                      queriesOfTile);
}

} // namespace tlc::kernels
