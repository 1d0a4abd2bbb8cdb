// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/TensorColumns.h"

#include <algorithm>
#include <numeric>

using namespace tlc;

size_t TensorColumns::add(int64_t rows, int64_t columns) {
  tiles.push_back({rows, columns, tiles.size()});
  return tiles.size() - 1;
}

void TensorColumns::joinLanes(size_t tile, size_t other) {
  const size_t from = tiles[tile].group, to = tiles[other].group;
  for (Tile &each : tiles)
    if (each.group == from)
      each.group = to;
}

std::vector<bool> TensorColumns::findUpper() const {
  std::vector<int64_t> columnsOf(tiles.size());
  for (const Tile &tile : tiles)
    if (tile.rows < tcgen05Rows)
      columnsOf[tile.group] += tile.columns;
  // For each sum of columns up to half of them, the last group of the first choice that gives it.
  const int64_t half = std::accumulate(columnsOf.begin(), columnsOf.end(), int64_t(0)) / 2;
  constexpr size_t none = SIZE_MAX;
  std::vector<size_t> lastOf(size_t(half) + 1, none);
  auto isSum = [&](int64_t sum) { return sum == 0 || lastOf[size_t(sum)] != none; };
  for (size_t group = 0; group < tiles.size(); ++group)
    for (int64_t sum = half; columnsOf[group] > 0 && sum >= columnsOf[group]; --sum)
      if (!isSum(sum) && isSum(sum - columnsOf[group]))
        lastOf[size_t(sum)] = group;
  int64_t left = half;
  while (!isSum(left))
    --left;
  std::vector<bool> upper(tiles.size());
  while (left > 0) {
    const size_t group = lastOf[size_t(left)];
    upper[group] = true;
    left -= columnsOf[group];
  }
  return upper;
}

std::vector<TensorPlace> TensorColumns::places() const {
  const std::vector<bool> upper = findUpper();
  std::vector<TensorPlace> places(tiles.size());
  int64_t whole = 0;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (tiles[i].rows >= tcgen05Rows) {
      places[i].column = whole;
      whole += tiles[i].columns;
    }
  int64_t next[2] = {whole, whole}; // in the lower and the upper lanes
  for (size_t i = 0; i < tiles.size(); ++i)
    if (tiles[i].rows < tcgen05Rows) {
      const bool isUpper = upper[tiles[i].group];
      places[i] = {next[isUpper], isUpper ? tensorMemoryUpperLane : 0};
      next[isUpper] += tiles[i].columns;
    }
  return places;
}

int64_t TensorColumns::used() const {
  int64_t end = 0;
  const std::vector<TensorPlace> all = places();
  for (size_t i = 0; i < tiles.size(); ++i)
    end = std::max(end, all[i].column + tiles[i].columns);
  return end;
}
