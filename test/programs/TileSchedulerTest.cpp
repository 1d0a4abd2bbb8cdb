// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order of tiles: each comes once, groups of heads keep their limits, and no block has much more to do
/// than others.
#include "kernels/attention/schedule/TileScheduler.h"

#include "runtime/support/Math.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

constexpr int64_t rowsOfTile = 128;

struct Tile {
  int64_t row, head, batch;
  auto operator<=>(const Tile &) const = default;
};

/// Tiles of keys of a call of attention.
struct Call {
  int64_t b = 1, s = 0, heads = 1;
  std::vector<int64_t> lengths = {}; ///< of packed sequences
  RowOrder order = RowOrder::lastFirst;
  HeadGroups groups = HeadGroups::sums;
  TileDealing dealing = TileDealing::fixed;
  int64_t rowBytes = 1024;
  int64_t blocks = 132;

  bool isPacked() const { return !lengths.empty(); }
  int64_t tilesOfHead() const { return ceilDiv(s, rowsOfTile); }
  std::vector<Tile> all() const {
    std::vector<Tile> tiles;
    auto add = [&](int64_t batch, int64_t rows) {
      for (int64_t head = 0; head < heads; ++head)
        for (int64_t row = 0; row < rows; row += rowsOfTile)
          tiles.push_back({row, head, batch});
    };
    for (int64_t batch = 0; batch < b && !isPacked(); ++batch)
      add(batch, s);
    for (size_t i = 0; i < lengths.size(); ++i)
      add(int64_t(i), lengths[i]);
    std::ranges::sort(tiles);
    return tiles;
  }
};

/// The tiles of each block, in its order, or, if blocks take them, all of them in theirs.
std::vector<std::vector<Tile>> tilesOf(const Call &call) {
  const bool isTaken = call.dealing == TileDealing::taken;
  // Of a block, those of numbers that leave the same rest if blocks take them.
  const auto most = int64_t(call.all().size());
  std::vector<int64_t> begins = {0};
  for (int64_t length : call.lengths)
    begins.push_back(begins.back() + length);
  const int64_t rows = call.isPacked() ? begins.back() : call.s;
  Program program = Program::trace("order", [&](Scope &k) {
    AttentionProblem problem{.lengths = call.isPacked() ? Lengths::packed : Lengths::uniform};
    Sequences sequences(k, problem);
    // Extents, for the launcher.
    if (!call.isPacked())
      k.input("Batches", i32, {sequences.count});
    for (Axis axis : {Axis::queries, Axis::keys})
      k.input(axis == Axis::queries ? "Queries" : "Keys", i32, {sequences.rows(axis)});
    sequences.declareLengths(k);
    Global Tiles = k.output("Tiles", i32, {call.blocks, most, 3});
    TileScheduler scheduler(k, sequences,
                            {.axis = Axis::keys,
                             .rowsOfTile = rowsOfTile,
                             .order = call.order,
                             .heads = call.heads,
                             .kvHeads = call.heads,
                             .groups = call.groups,
                             .cachedRowBytes = call.rowBytes,
                             .dealing = call.dealing});
    if (scheduler.hasLaunch())
      k.launch("lines", [&] { scheduler.writeOrder(); });
    k.launch("tiles", [&] {
      auto [block] = k.grid(call.blocks);
      TileScheduler::Share share = scheduler.shareOf(block, k.blocks());
      Index count = isTaken ? max(ceilDiv(scheduler.tileCount() - block, k.blocks()), 0) : share.count;
      k.loop(count, [&](Index n) {
        TilePlace place = isTaken ? scheduler.at(n * k.blocks() + block) : share.at(n);
        FragmentValue fields = k.fragment(i32, {1, 1, 4}, place.row.to(i32));
        auto put = [&](int64_t column, const Index &value) {
          fields = where([&](Index, Index, Index i) { return i == column; },
                         k.fragment(i32, {1, 1, 4}, value.to(i32)), fields);
        };
        put(1, place.head);
        put(2, place.batch);
        copy(fields, Tiles.tile({block, n, 0}, {1, 1, 4}));
      });
    });
  });
  auto numbers = [](int64_t count) { return Memory::filled(ElementType::i32, {count}, 0); };
  Memory batches = numbers(call.b), queries = numbers(rows), keys = numbers(rows),
         ofQueries = numbers(int64_t(begins.size())),
         tiles = Memory::filled(ElementType::i32, {call.blocks, most, 3}, -1);
  std::ranges::copy(begins, ofQueries.values.begin());
  Memory ofKeys = ofQueries;
  std::vector<Memory *> tensors = {&queries, &keys};
  if (call.isPacked())
    tensors.insert(tensors.end(), {&ofQueries, &ofKeys});
  else
    tensors.insert(tensors.begin(), &batches);
  tensors.push_back(&tiles);
  Memory lines = Memory::filled(ElementType::i32, {rows, 3}, 0),
         lineCount = Memory::filled(ElementType::i32, {1, 1}, 0);
  if (call.isPacked()) // workspaces
    tensors.insert(tensors.end(), {&lines, &lineCount});
  run(compiled(std::move(program)), tensors);
  std::vector<std::vector<Tile>> result(isTaken ? 1 : size_t(call.blocks));
  for (int64_t n = 0; n < most; ++n)
    for (int64_t block = 0; block < call.blocks; ++block)
      if (auto field = [&](int64_t i) { return int64_t(tiles.at({block, n, i})); }; field(0) >= 0)
        result[isTaken ? 0 : size_t(block)].push_back({field(0), field(1), field(2)});
  return result;
}

void checkEachOnce(const Call &call, const std::vector<std::vector<Tile>> &tiles) {
  std::vector<Tile> found;
  for (const std::vector<Tile> &ofBlock : tiles)
    found.insert(found.end(), ofBlock.begin(), ofBlock.end());
  std::ranges::sort(found);
  CHECK(found == call.all());
}

/// How many heads of all sequences make the first group: as many tiles of the same row come first.
int64_t groupSize(const Call &call) {
  std::vector<std::vector<Tile>> tiles = tilesOf(call);
  int64_t count = 0;
  if (call.dealing == TileDealing::taken) {
    auto isFirst = [&](const Tile &tile) { return tile.row == tiles[0][0].row; };
    return std::ranges::find_if_not(tiles[0], isFirst) - tiles[0].begin();
  }
  for (size_t round = 0;; ++round)
    for (size_t i = 0; i < tiles.size(); ++i, ++count)
      if (tiles[round % 2 == 0 ? i : tiles.size() - 1 - i].at(round).row != tiles[0][0].row)
        return count;
}

/// What the busiest block has to do, relative to the mean, where the keys of a tile are seen from there on.
double imbalance(const Call &call) {
  std::vector<double> work;
  for (const std::vector<Tile> &ofBlock : tilesOf(call))
    work.push_back(std::accumulate(ofBlock.begin(), ofBlock.end(), 0.0, [&](double sum, const Tile &tile) {
      return sum + double(call.s - tile.row);
    }));
  double mean = std::accumulate(work.begin(), work.end(), 0.0) / double(work.size());
  return *std::ranges::max_element(work) / mean;
}

} // namespace

TEST_CASE("every tile comes once", "[attention][schedule]") {
  Call call =
      GENERATE(Call{.b = 3, .s = 700, .heads = 5}, Call{.b = 1, .s = 128, .heads = 1},
               Call{.b = 2, .s = 1000, .heads = 3, .order = RowOrder::lastOfHalfFirst},
               Call{.b = 3, .s = 700, .heads = 5, .order = RowOrder::any},
               Call{.b = 40, .s = 300, .heads = 2}, Call{.heads = 3, .lengths = {300, 0, 1000, 1, 129}},
               Call{.heads = 4, .lengths = {64, 700, 700}, .order = RowOrder::any});
  call.groups = GENERATE(HeadGroups::loads, HeadGroups::sums);
  call.dealing = GENERATE(TileDealing::fixed, TileDealing::taken);
  call.rowBytes = GENERATE(1024, 1 << 15); // one with groups of few heads
  call.blocks = GENERATE(1, 7);
  CAPTURE(call.b, call.s, call.heads, call.lengths, int(call.order), int(call.groups), int(call.dealing),
          call.rowBytes, call.blocks);
  checkEachOnce(call, tilesOf(call));
}

TEST_CASE("groups of heads stay in L2, but keep blocks busy", "[attention][schedule]") {
  // Rows of Q, dO and dQ in f32, d = 128.
  CHECK(groupSize({.b = 16, .s = 1024, .heads = 16}) == 32);
  CHECK(groupSize({.b = 16, .s = 1024, .heads = 16, .groups = HeadGroups::loads, .rowBytes = 512}) == 64);
  CHECK(groupSize({.b = 2, .s = 8192, .heads = 16}) == 4);
  // Four heads of Q share one of K and V: L2 would hold two, but a group has 1.9 rounds of tiles.
  CHECK(groupSize({.b = 4, .s = 4096, .heads = 8, .rowBytes = 4096}) == 8);
  // An even number of groups: not 3 of 21, but 2 of 32.
  CHECK(groupSize({.b = 4, .s = 1500, .heads = 16}) == 32);
  // If blocks take tiles, a group is as large as L2 wants it.
  CHECK(groupSize({.b = 4, .s = 4096, .heads = 8, .dealing = TileDealing::taken, .rowBytes = 4096}) == 2);
  // One group has all.
  CHECK(groupSize({.b = 1, .s = 4096, .heads = 4}) == 4);
}

TEST_CASE("blocks have about the same to do", "[attention][schedule]") {
  CHECK(imbalance({.b = 16, .s = 1024, .heads = 16}) < 1.05);
  CHECK(imbalance({.b = 4, .s = 4096, .heads = 16}) < 1.02);
  CHECK(imbalance({.b = 4, .s = 4096, .heads = 8, .rowBytes = 4096}) < 1.02);
}
