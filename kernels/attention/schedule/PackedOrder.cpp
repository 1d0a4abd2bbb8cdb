// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic of the order of packed sequences.
#include "kernels/attention/schedule/PackedOrder.h"

#include "kernels/attention/schedule/TileOrder.h"

namespace tlc::kernels {

using namespace dsl;

// A sequence has at least as many rows as row tiles, so that there is room for all.
PackedOrder::PackedOrder(Scope &k, const ForwardConfig &config, const ForwardProblem &problem, RowOrder rows)
    : k(k), c(config), p(problem), rows(rows), lines(k.workspace("lines", i32, {problem.sq, 3})),
      count(k.workspace("line_count", i32, {1, 1})) {}

Index PackedOrder::rowTilesOf(const Index &batch) const { return ceilDiv(p.queriesOf(batch), c.bq); }

void PackedOrder::write() const {
  constexpr int64_t together = 256;
  k.warps(4);
  auto [batch] = k.grid(p.batches);
  Index keys = p.keysOf(batch);
  Fragment before = k.fragment(i32, {1, 1}), all = k.fragment(i32, {1, 1});
  k.loop(ceilDiv(p.batches, together), [&](Index chunk) {
    Index first = chunk * together;
    auto lengths = [&](const Global &begins) {
      Fragment begin = k.fragment(i32, {1, together}), end = k.fragment(i32, {1, together});
      copy(begins.tile({first}, {together}), begin);
      copy(begins.tile({first + 1}, {together}), end);
      return FragmentValue(end - begin);
    };
    Fragment one = k.fragment(i32, {1, together}, 1);
    FragmentValue queries = lengths(p.queryBegins()), others = lengths(p.keyBegins());
    FragmentValue rowTiles =
        where([&](Index, Index i) { return first + i < p.batches; }, (queries + (c.bq - 1)) / c.bq, 0);
    all = all + rowSum(rowTiles);
    FragmentValue isEarlier = where([&](Index, Index i) { return first + i < batch; }, one, 0);
    Scalar own = keys.to(i32);
    FragmentValue wins = where(others == own, isEarlier, where(others > own, one, 0));
    before = before + rowSum(wins * rowTiles);
  });
  Shared number = k.shared("number", i32, {1, 1});
  copy(before, number);
  Index first = number.read({0, 0}), own = rowTilesOf(batch);
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
  k.when(batch == 0, [&] { copy(all, count.tile({0, 0}, {1, 1})); });
}

ForwardProblem::Position PackedOrder::at(const Index &number) const {
  Index lineCount = count.read({0, 0}), wanted = number / p.heads;
  Index at = min(wanted, lineCount - 1);
  Index batch = lines.read({at, 0}), first = lines.read({at, 1}), rowTiles = max(lines.read({at, 2}), 1);
  // Within the sequence: groups of heads, in a group lines, in a line the group's heads.
  Index inSequence = number - first * p.heads, headsPerKv = p.heads / p.kvHeads;
  Index keys = p.keysOf(batch);
  Index together = rows == RowOrder::any ? Index(1) : min(max(headsInCache(c, keys), 1), p.kvHeads);
  Index groupSize = together * headsPerKv;
  Index group = inSequence / (groupSize * rowTiles), inGroup = inSequence % (groupSize * rowTiles);
  Index width = max(min(p.heads - group * groupSize, groupSize), 1);
  Index line = inGroup / width, head = group * groupSize + inGroup % width;
  Index turned = where(group % 2 == 0, line, rowTiles - 1 - line);
  Predicate exists = wanted < lineCount;
  auto ifExists = [&](const Index &value) { return where(exists, value, Index(0)); };
  ForwardProblem::Position position =
      p.positionOf(ifExists(rowTileAt(rows, turned, rowTiles) * c.bq), ifExists(head), batch);
  position[4] = ifExists(position[4]); // queries
  return position;
}

} // namespace tlc::kernels
