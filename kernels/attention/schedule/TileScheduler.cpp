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

Index TileScheduler::tileCount() const {
  return sequences.isPacked() ? lineCount.read({0, 0}) * space.heads : tilesAtMost();
}

Index TileScheduler::takenAtMost() const { return 2 * ceilDiv(tilesAtMost(), max(k.blocks(), 1)); }

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
    auto lengths = [&](Axis axis) {
      const Global &begins = sequences.begins(axis);
      Fragment begin = k.fragment(i32, {1, together}), end = k.fragment(i32, {1, together});
      copy(begins.tile({first}, {together}), begin);
      copy(begins.tile({first + 1}, {together}), end);
      return sequences.rowsBefore(axis, FragmentValue(end)) -
             sequences.rowsBefore(axis, FragmentValue(begin));
    };
    Fragment one = k.fragment(i32, {1, together}, 1);
    FragmentValue rows = lengths(space.axis), otherRows = lengths(otherAxis());
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
  Index together = space.order == RowOrder::any
                       ? Index(1)
                       : kvHeadsTogether(space.kvHeads, rowTiles * headsPerKv, others, /*least=*/Index(1));
  Index groupSize = together * headsPerKv;
  Index group = inSequence / (groupSize * rowTiles), inGroup = inSequence % (groupSize * rowTiles);
  Index width = max(min(space.heads - group * groupSize, groupSize), 1);
  Index line = inGroup / width, head = group * groupSize + inGroup % width;
  bool isTurned = !space.descends && space.dealing == TileDealing::fixed;
  Index turned = isTurned ? where(group % 2 == 0, line, rowTiles - 1 - line) : line;
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

/// How many of `all` heads of K and V make a group, `least` if L2 decides, where each of them has so many
/// tiles and so many rows of the other axis.
Index TileScheduler::kvHeadsTogether(const Index &all, const Index &tilesOfEach, const Index &rows,
                                     const Index &least) const {
  constexpr int64_t cachedBytes = 32 << 20; // of an H200's 50 MB of L2
  Index cached = Index(cachedBytes) / max(space.cachedRowBytes, 1) / max(rows, 1);
  if (space.groups == HeadGroups::loads)
    return max(min(max(cached, least), all), 1);
  if (space.dealing == TileDealing::taken)
    return max(min(cached, all), 1);
  Index wanted = max(cached, kvHeadsToFill(tilesOfEach)), groups = all / max(wanted, 1);
  return max(ceilDiv(all, max(groups - where(groups > 1, groups % 2, Index(0)), 1)), 1);
}

/// Heads of K and V with 1.9 rounds of tiles.
Index TileScheduler::kvHeadsToFill(const Index &tilesOfEach) const {
  return ceilDiv(ceilDiv(k.blocks() * 19, 10), max(tilesOfEach, 1));
}

/// Pairs of a head and a sequence that make a group.
Index TileScheduler::sizeOfGroup() const {
  Index headsPerKv = space.heads / space.kvHeads, tilesOfEach = tilesOfHead() * headsPerKv;
  Index aTileForEach = ceilDiv(k.blocks(), max(tilesOfEach, 1));
  return kvHeadsTogether(space.kvHeads * sequences.count, tilesOfEach, sequences.rows(otherAxis()),
                         aTileForEach) *
         headsPerKv;
}

TilePlace TileScheduler::tileOfPair(const Index &pair, const Index &line) const {
  return {tileOfLine(space, line, tilesOfHead()) * space.rowsOfTile, pair % space.heads, pair / space.heads};
}

/// A tile of so many heads, longest first.
TilePlace TileScheduler::tileAmong(const Index &firstPair, const Index &count, const Index &number) const {
  return tileOfPair(firstPair + number % count, number / count);
}

TilePlace TileScheduler::at(const Index &number) const {
  if (sequences.isPacked())
    return packedTile(number);
  Index tiles = tilesOfHead();
  if (space.order == RowOrder::any) {
    // Heads of a row are neighbours in memory, which counts where the rows of tiles are most that is read.
    Index together = where(sequences.rows(otherAxis()) <= space.rowsOfTile, space.heads, Index(1));
    Index first = number / (together * tiles) * together;
    return tileAmong(first, together, number - first * tiles);
  }
  // The last tiles are those of many heads, so that blocks end with short ones.
  Index headsPerKv = space.heads / space.kvHeads, size = sizeOfGroup();
  Index inLast = min(kvHeadsToFill(tiles * headsPerKv) * headsPerKv, pairs()), last = pairs() - inLast;
  Predicate isLast = number >= last * tiles;
  Index first = where(isLast, last, number / (size * tiles) * size);
  return tileAmong(first, where(isLast, inLast, min(size, last - first)), number - first * tiles);
}

TileScheduler::Share::Share(const TileScheduler &all, const Index &block, const Index &blocks)
    : all(all), block(block), blocks(blocks) {
  SnakeOrder snake{blocks};
  if (all.sequences.isPacked() || all.space.order == RowOrder::any) {
    count = snake.countOf(all.tileCount(), block);
    return;
  }
  groupSize = all.sizeOfGroup();
  Index tilesOfHead = all.tilesOfHead(), tiles = groupSize * tilesOfHead;
  fullGroups = all.pairs() / groupSize;
  forwards = snake.countOf(tiles, block);
  backwards = snake.countOf(tiles, snake.opposite(block));
  inFullGroups = fullGroups / 2 * (forwards + backwards) + where(fullGroups % 2 == 0, Index(0), forwards);
  count = inFullGroups + snake.countOf(all.pairs() % groupSize * tilesOfHead, placeIn(fullGroups));
}

TilePlace TileScheduler::Share::at(const Index &n) const {
  SnakeOrder snake{blocks};
  if (all.sequences.isPacked() || all.space.order == RowOrder::any)
    return all.at(snake.tileAt(n, block));
  Index twoGroups = max(forwards + backwards, 1), rest = n % twoGroups;
  Index isSecond = where(rest < forwards, Index(0), Index(1));
  Predicate isFull = n < inFullGroups;
  Index group = where(isFull, n / twoGroups * 2 + isSecond, fullGroups);
  Index round = where(isFull, rest - isSecond * forwards, n - inFullGroups);
  Index first = group * groupSize;
  return all.tileAmong(first, min(all.pairs() - first, groupSize), snake.tileAt(round, placeIn(group)));
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
