// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the softmax: in one pass where a row fits the registers of a
/// block or cluster, else with a running maximum and sum, and a second pass for
/// the result.
#include "kernels/softmax/Softmax.h"

#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <bit>
#include <numbers>
#include <optional>

namespace tlc::kernels {

using namespace dsl;

namespace {
constexpr double log2e = std::numbers::log2e;

FragmentValue exponential(const FragmentValue &x, const FragmentValue &base) {
  return exp2((x - base) * log2e);
}
} // namespace

Program softmaxProgram(const SoftmaxConfig &c, const TraceOptions &options) {
  return Program::trace("softmax", options, [&](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", c.dtype, {rows, columns}), Y = k.output("Y", c.dtype, {rows, columns});
    k.warps(c.warps);
    if (c.cluster > 1)
      k.cluster(c.cluster);
    auto [block] = k.grid(ceilDiv(rows, c.rows) * c.cluster);
    Index row = block / c.cluster * c.rows;
    auto tileOf = [&](const Global &tensor, const Index &column) {
      return tensor.tile({row, column}, {c.rows, c.columns});
    };
    auto load = [&](const Index &column) {
      Fragment x = k.fragment(c.dtype, {c.rows, c.columns});
      copy(tileOf(X, column).fill(-inf), x);
      return x.to(f32);
    };
    // Over the blocks that share a row.
    auto baseOf = [&](const FragmentValue &maximum) {
      return finiteOrZero(c.cluster > 1 ? clusterMax(maximum) : maximum);
    };
    // A division for each row, not for each element.
    auto scaleOf = [&](const FragmentValue &sum) {
      return divideOrZero(1, c.cluster > 1 ? clusterSum(sum) : sum);
    };
    Index part = c.cluster > 1 ? k.blockRank() : Index(0);

    auto inOnePass = [&] {
      FragmentValue x = load(part * c.columns);
      FragmentValue p = exponential(x, baseOf(rowMax(x)));
      copy((p * scaleOf(rowSum(p))).to(c.dtype), tileOf(Y, part * c.columns));
    };
    auto inTwoPasses = [&] {
      Fragment maximum = k.fragment(f32, {c.rows, 1}, -inf), sum = k.fragment(f32, {c.rows, 1});
      Index tiles = ceilDiv(columns, c.columns), own = ceilDiv(max(tiles - part, 0), c.cluster);
      k.loop(own, [&](Index j) {
        FragmentValue x = load((part + j * c.cluster) * c.columns);
        Fragment next = max(maximum, rowMax(x)), base = finiteOrZero(next);
        sum = sum * exponential(maximum, base) + rowSum(exponential(x, base));
        maximum = next;
      });
      FragmentValue base = baseOf(maximum), scale = scaleOf(sum * exponential(maximum, base));
      // From the last tile back: L2 has what was read last.
      k.loop(own, [&](Index j) {
        Index column = (part + (own - 1 - j) * c.cluster) * c.columns;
        copy((exponential(load(column), base) * scale).to(c.dtype), tileOf(Y, column));
      });
    };
    k.when(columns <= c.cluster * c.columns, inOnePass, inTwoPasses);
  });
}

namespace {
constexpr int64_t ofWarp = 32 * lanesPerWarp; ///< elements
/// Of a block: of short rows, at least where there are few rows, at most where registers hold a row, and
/// where they do not.
constexpr int64_t leastWarps = 4, someWarps = 8, manyWarps = 16, mostWarps = 32;

/// Elements that a thread loads at once.
int64_t vectorOf(ElementType dtype) { return maxSharedVectorBytes / int64_t(sizeInBytes(dtype)); }

/// The columns of a tile of whole rows, if a block is to have several of them.
std::optional<int64_t> shortRow(int64_t columns, ElementType dtype) {
  int64_t width = int64_t(std::bit_ceil(uint64_t(std::max(columns, vectorOf(dtype)))));
  return width <= leastWarps / 2 * ofWarp ? std::optional(width) : std::nullopt;
}
} // namespace

SoftmaxConfig chooseSoftmaxConfig(const SoftmaxProblem &problem, const Target &target) {
  const auto [rows, columns, dtype] = problem;
  const bool isUnaligned = columns % vectorOf(dtype) != 0;
  SoftmaxConfig config{.dtype = dtype, .warps = leastWarps};
  if (std::optional<int64_t> width = shortRow(columns, dtype)) {
    // A vector for each thread means more threads. Where rows end within a tile, so that lanes are idle, each
    // thread has more; but not of unaligned rows, whose lanes have single elements.
    const int64_t vectors = vectorOf(dtype) * lanesPerWarp;
    bool fillsLanes = columns == *width || isUnaligned;
    config.rows = config.warps * (fillsLanes && *width <= vectors ? vectors : ofWarp) / *width;
    fitColumns(config, columns);
    return config;
  }
  bool hasFewRows = rows < 4 * int64_t(target.multiprocessors);
  int64_t warps = tlc::ceilDiv(columns, ofWarp);
  config.warps = std::max(warps, hasFewRows ? someWarps : leastWarps);
  if (warps > manyWarps) {
    // With the widest tiles L2 holds fewer rows between both passes. Rows of 16 bits gain nothing by it where
    // they are unaligned or leave much of the last tile empty (H200: 4000 x 20000 1.29 times as fast with 8
    // warps, 1024 x 50256 1.17 times, 2000 x 32768 0.97 times; f32 0.76 to 0.94 times).
    const int64_t covered = alignTo(columns, mostWarps * ofWarp);
    bool fillsTiles = !isUnaligned && 10 * covered <= 11 * columns;
    config.warps = hasFewRows || sizeInBytes(dtype) == 4 || fillsTiles ? mostWarps : someWarps;
  }
  fitColumns(config, columns);
  // Several blocks for a row where otherwise multiprocessors would have none.
  auto fits = [&](int64_t cluster) {
    return cluster <= int64_t(target.maxClusterSize) && rows * cluster <= target.multiprocessors &&
           cluster / 2 * config.columns < columns;
  };
  while (fits(config.cluster * 2))
    config.cluster *= 2;
  return config;
}

void fitColumns(SoftmaxConfig &config, int64_t columns) {
  config.columns = shortRow(columns, config.dtype).value_or(config.warps * ofWarp);
}

} // namespace tlc::kernels
