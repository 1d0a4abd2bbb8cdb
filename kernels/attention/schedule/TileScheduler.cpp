// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic of the order of tiles.
#include "kernels/attention/schedule/TileScheduler.h"

#include <string>

namespace tlc::kernels {

using namespace dsl;

namespace {
/// Which of a head's tiles along an axis comes as number `line`.
Index tileOfLine(const TileScheduler::Space &space, const Index &line, const Index &tiles);
} // namespace

//===----------------------------------------------------------------------===//
// All tiles
//===----------------------------------------------------------------------===//

TileScheduler::TileScheduler(Scope &k, const Sequences &sequences, Space space)
    : k(k), sequences(sequences), space(std::move(space)) {
  if (this->space.descends)
    this->space.order = RowOrder::any;
  if (!sequences.isPacked())
    return;
  // A sequence has at least as many rows as tiles, so that there is room for all.
  std::string name = this->space.axis == Axis::queries ? "query" : "key";
  lines = k.workspace(name + "_lines", i32, {sequences.rows(this->space.axis), 3});
  lineCount = k.workspace(name + "_line_count", i32, {1, 1});
}

Index TileScheduler::tilesOfHead() const { return ceilDiv(sequences.rows(space.axis), space.rowsOfTile); }

Index TileScheduler::tilesAtMost() const {
  if (!sequences.isPacked())
    return tilesOfHead() * space.heads * sequences.count;
  // None at all without rows.
  return (tilesOfHead() + sequences.count) * min(sequences.rows(space.axis), 1) * space.heads;
}

Index TileScheduler::tilesOfSequence(const Index &batch) const {
  return ceilDiv(sequences.rowsOf(space.axis, batch), space.rowsOfTile);
}

//===----------------------------------------------------------------------===//
// Packed sequences
//===----------------------------------------------------------------------===//

void TileScheduler::writeOrder() const {
  constexpr int64_t together = 256;
  const Index &batches = sequences.count;
  k.warps(4);
  auto [batch] = k.grid(batches);
  Index others = sequences.rowsOf(otherAxis(), batch);
  Fragment before = k.fragment(i32, {1, 1}), all = k.fragment(i32, {1, 1});
  k.loop(ceilDiv(batches, together), [&](Index chunk) {
    Index first = chunk * together;
    auto lengths = [&](const Global &begins) {
      Fragment begin = k.fragment(i32, {1, together}), end = k.fragment(i32, {1, together});
      copy(begins.tile({first}, {together}), begin);
      copy(begins.tile({first + 1}, {together}), end);
      return FragmentValue(end - begin);
    };
    Fragment one = k.fragment(i32, {1, together}, 1);
    FragmentValue rows = lengths(sequences.begins(space.axis)),
                  otherRows = lengths(sequences.begins(otherAxis()));
    FragmentValue rowTiles = where([&](Index, Index i) { return first + i < batches; },
                                   (rows + (space.rowsOfTile - 1)) / space.rowsOfTile, 0);
    all = all + rowSum(rowTiles);
    FragmentValue isEarlier = where([&](Index, Index i) { return first + i < batch; }, one, 0);
    Scalar own = others.to(i32);
    FragmentValue wins = where(otherRows == own, isEarlier, where(otherRows > own, one, 0));
    before = before + rowSum(wins * rowTiles);
  });
  Shared number = k.shared("number", i32, {1, 1});
  copy(before, number);
  Index first = number.read({0, 0}), own = tilesOfSequence(batch);
  constexpr int64_t linesOfTile = 64;
  auto column = [&](int64_t which, const Index &value, const FragmentValue &others) {
    return where([&](Index, Index i) { return i == which; }, k.fragment(i32, {linesOfTile, 3}, value.to(i32)),
                 others);
  };
  FragmentValue line = k.fragment(i32, {linesOfTile, 3}, own.to(i32));
  line = column(0, batch, column(1, first, line));
  k.loop(ceilDiv(own, linesOfTile), [&](Index i) {
    copy(line, lines.tile({first + i * linesOfTile, 0}, {linesOfTile, 3}).limited(0, first + own));
  });
  k.when(batch == 0, [&] { copy(all, lineCount.tile({0, 0}, {1, 1})); });
}

TilePlace TileScheduler::packedTile(const Index &number) const {
  Index count = lineCount.read({0, 0}), wanted = number / space.heads;
  Index at = min(wanted, count - 1);
  Index batch = lines.read({at, 0}), first = lines.read({at, 1}), rowTiles = max(lines.read({at, 2}), 1);
  // Within the sequence: groups of heads, in a group lines, in a line the group's heads.
  Index inSequence = number - first * space.heads, headsPerKv = space.heads / space.kvHeads;
  Index others = sequences.rowsOf(otherAxis(), batch);
  Index together = space.order == RowOrder::any ? Index(1) : min(max(headsInCache(others), 1), space.kvHeads);
  Index groupSize = together * headsPerKv;
  Index group = inSequence / (groupSize * rowTiles), inGroup = inSequence % (groupSize * rowTiles);
  Index width = max(min(space.heads - group * groupSize, groupSize), 1);
  Index line = inGroup / width, head = group * groupSize + inGroup % width;
  Index turned = space.descends ? line : where(group % 2 == 0, line, rowTiles - 1 - line);
  Predicate exists = wanted < count;
  auto ifExists = [&](const Index &value) { return where(exists, value, Index(0)); };
  return {ifExists(tileOfLine(space, turned, rowTiles) * space.rowsOfTile), ifExists(head), batch, exists};
}

//===----------------------------------------------------------------------===//
// Tiles of a block
//===----------------------------------------------------------------------===//

namespace {
/// Tiles assigned to so many places in rounds, every other round backwards.
struct SnakeOrder {
  Index places;

  Index opposite(const Index &place) const { return places - 1 - place; }
  /// Number n of the tiles that come to a place.
  Index tileAt(const Index &n, const Index &place) const { return n * places + inRound(n, place); }
  /// How many come to it.
  Index countOf(const Index &tiles, const Index &place) const {
    Index whole = tiles / places;
    return whole + where(inRound(whole, place) < tiles % places, Index(1), Index(0));
  }

private:
  Index inRound(const Index &round, const Index &place) const {
    return where(round % 2 == 0, place, opposite(place));
  }
};
} // namespace

/// How many heads' rows of the other axis, so many each, stay in L2 together; may be 0.
Index TileScheduler::headsInCache(const Index &rows) const {
  constexpr int64_t cachedBytes = 32 << 20; // half of an H200's L2
  return Index(cachedBytes / space.cachedRowBytes) / max(rows, 1);
}

TileScheduler::Share::Share(const TileScheduler &all, const Index &block, const Index &blocks)
    : all(all), block(block), blocks(blocks) {
  SnakeOrder snake{blocks};
  const Space &space = all.space;
  if (all.sequences.isPacked()) {
    count = snake.countOf(all.lineCount.read({0, 0}) * space.heads, block);
    return;
  }
  Index tilesOfHead = all.tilesOfHead();
  pairs = space.heads * all.sequences.count;
  if (space.order == RowOrder::any) {
    count = snake.countOf(pairs * tilesOfHead, block);
    return;
  }
  Index headsPerKv = space.heads / space.kvHeads,
        cached = all.headsInCache(all.sequences.rows(all.otherAxis()));
  Index atLeast = ceilDiv(blocks, max(tilesOfHead * headsPerKv, 1)); // a tile for each block
  groupSize = max(min(max(cached, atLeast), space.kvHeads * all.sequences.count), 1) * headsPerKv;
  Index tiles = groupSize * tilesOfHead;
  fullGroups = pairs / groupSize;
  forwards = snake.countOf(tiles, block);
  backwards = snake.countOf(tiles, snake.opposite(block));
  inFullGroups = fullGroups / 2 * (forwards + backwards) + where(fullGroups % 2 == 0, Index(0), forwards);
  count = inFullGroups + snake.countOf(pairs % groupSize * tilesOfHead, placeIn(fullGroups));
}

TilePlace TileScheduler::Share::at(const Index &n) const {
  SnakeOrder snake{blocks};
  if (all.sequences.isPacked())
    return all.packedTile(snake.tileAt(n, block));
  const Space &space = all.space;
  Index tilesOfHead = all.tilesOfHead();
  if (space.order == RowOrder::any) {
    Index tile = snake.tileAt(n, block), pair = tile / tilesOfHead;
    return {tileOfLine(space, tile % tilesOfHead, tilesOfHead) * space.rowsOfTile, pair % space.heads,
            pair / space.heads};
  }
  Index twoGroups = max(forwards + backwards, 1), rest = n % twoGroups;
  Index isSecond = where(rest < forwards, Index(0), Index(1));
  Predicate isFull = n < inFullGroups;
  Index group = where(isFull, n / twoGroups * 2 + isSecond, fullGroups);
  Index round = where(isFull, rest - isSecond * forwards, n - inFullGroups);
  Index tile = snake.tileAt(round, placeIn(group));
  Index width = min(pairs - group * groupSize, groupSize), line = tile / width;
  Index pair = group * groupSize + tile % width;
  return {tileOfLine(space, line, tilesOfHead) * space.rowsOfTile, pair % space.heads, pair / space.heads};
}

namespace {
Index tileOfLine(const TileScheduler::Space &space, const Index &line, const Index &tiles) {
  bool isOfKeys = space.axis == Axis::keys; // the first ones are seen by most
  Index fromEnd = tiles - 1 - line;
  if (space.descends)
    return fromEnd;
  switch (space.order) {
  case RowOrder::any:
    return line;
  case RowOrder::lastFirst:
    return isOfKeys ? line : fromEnd;
  case RowOrder::lastOfHalfFirst: { // one from each half in turn; the second half has the odd tile, at its
                                    // end
    Index half = tiles / 2, odd = tiles % 2;
    if (isOfKeys) // those of the first half are seen by one tile each
      return where(line < tiles - half, half + line, line - (tiles - half));
    Index inHalf = (line - odd) / 2;
    return where(line < odd, tiles - 1,
                 where((line - odd) % 2 == 0, half - 1 - inHalf, 2 * half - 1 - inHalf));
  }
  }
  return line;
}
} // namespace

Index TileScheduler::Share::placeIn(const Index &group) const {
  return where(group % 2 == 0, block, SnakeOrder{blocks}.opposite(block));
}

} // namespace tlc::kernels
