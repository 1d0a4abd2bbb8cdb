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
#include <numeric>
#include <vector>

namespace tlc::kernels {

using namespace dsl;

namespace {
constexpr double log2e = std::numbers::log2e;

FragmentValue exponential(const FragmentValue &x, const FragmentValue &base) {
  return exp2((x - base) * log2e);
}

/// Of the same rows, one after the other.
using Pieces = std::vector<FragmentValue>;

Pieces exponentials(Pieces x, const FragmentValue &base) {
  for (FragmentValue &piece : x)
    piece = exponential(piece, base);
  return x;
}

FragmentValue maximumOf(const Pieces &x) {
  FragmentValue maximum = x.front();
  for (size_t i = 1; i < x.size(); ++i)
    maximum = max(maximum, x[i]);
  return maximum;
}

FragmentValue sumOf(const Pieces &x) {
  FragmentValue sum = x.front();
  for (size_t i = 1; i < x.size(); ++i)
    sum = sum + x[i];
  return sum;
}
} // namespace

Program softmaxProgram(const SoftmaxConfig &c, const TraceOptions &options) {
  TraceOptions fixed = options;
  if (c.length)
    fixed.fixedDimensions["columns"] = *c.length;
  return Program::trace("softmax", fixed, [&](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    const TensorFacts facts = {.alignment = c.alignment};
    Global X = k.input("X", c.dtype, {rows, columns}, facts),
           Y = k.output("Y", c.dtype, {rows, columns}, facts);
    k.warps(c.warps);
    if (c.cluster > 1)
      k.cluster(c.cluster);
    auto [block] = k.grid(ceilDiv(rows, c.rows) * c.cluster);
    Index row = block / c.cluster * c.rows;
    auto pieceOf = [&](const Global &tensor, const Index &column) {
      return tensor.tile({row, column}, {c.rows, c.piece});
    };
    // The columns of a tile, in pieces. Where all columns of one are inside, rows that are not may be 0:
    // nothing of them is stored.
    auto load = [&](const Index &first) {
      Pieces x;
      for (int64_t column = 0; column < c.columns; column += c.piece) {
        Fragment piece = k.fragment(c.dtype, {c.rows, c.piece});
        Slice slice = pieceOf(X, first + column);
        bool isInside = (first + column + c.piece <= columns).constant().value_or(false);
        copy(isInside ? slice : slice.fill(-inf), piece);
        x.push_back(piece.to(f32));
      }
      return x;
    };
    auto store = [&](const Pieces &x, const FragmentValue &scale, const Index &first) {
      for (size_t i = 0; i < x.size(); ++i)
        copy((x[i] * scale).to(c.dtype), pieceOf(Y, first + int64_t(i) * c.piece));
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
      Pieces x = load(part * c.columns);
      Pieces p = exponentials(x, baseOf(rowMax(maximumOf(x))));
      store(p, scaleOf(rowSum(sumOf(p))), part * c.columns);
    };
    auto inTwoPasses = [&] {
      // One for each column of a piece, so that no round waits for other threads; or, to take few registers,
      // one for each row.
      const bool isOfColumns = c.piece < c.columns;
      auto ofTile = [&](Reduction kind, const FragmentValue &x) {
        return isOfColumns ? x : reduce(kind, x, 1);
      };
      Fragment maximum = k.fragment(f32, {c.rows, isOfColumns ? c.piece : 1}, -inf);
      Fragment sum = k.fragment(f32, maximum.shape());
      Index tiles = ceilDiv(columns, c.columns), own = ceilDiv(max(tiles - part, 0), c.cluster);
      k.loop(own, [&](Index j) {
        Pieces x = load((part + j * c.cluster) * c.columns);
        Fragment next = max(maximum, ofTile(Reduction::max, maximumOf(x))), base = finiteOrZero(next);
        sum = sum * exponential(maximum, base) + ofTile(Reduction::sum, sumOf(exponentials(x, base)));
        maximum = next;
      });
      FragmentValue base = baseOf(rowMax(maximum)), scale = scaleOf(rowSum(sum * exponential(maximum, base)));
      // From the last tile back: L2 has what was read last.
      k.loop(own, [&](Index j) {
        Index column = (part + (own - 1 - j) * c.cluster) * c.columns;
        store(exponentials(load(column), base), scale, column);
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
int64_t vectorOf(ElementType dtype, int64_t alignment = maxSharedVectorBytes) {
  return std::max<int64_t>(alignment / int64_t(sizeInBytes(dtype)), 1);
}

/// The columns of a tile of whole rows, if a block is to have several of them.
std::optional<int64_t> shortRow(int64_t columns, ElementType dtype) {
  int64_t width = int64_t(std::bit_ceil(uint64_t(std::max(columns, vectorOf(dtype)))));
  return width <= leastWarps / 2 * ofWarp ? std::optional(width) : std::nullopt;
}

/// The bytes of vectors that are aligned in all rows, and of which a row is a multiple.
int64_t alignmentOf(const SoftmaxProblem &problem) {
  const int64_t length = problem.columns * int64_t(sizeInBytes(problem.dtype));
  return std::gcd(std::gcd(problem.alignment, length), maxSharedVectorBytes);
}

/// The tile of rows of one length. A warp has several short rows, each in four to eight pieces: few of its
/// lanes are idle then, and they exchange little. Pieces of less than a sector are stored in more
/// transactions.
void fitPieces(SoftmaxConfig &config) {
  constexpr int64_t fewPieces = 4, manyPieces = 8, sectorBytes = 32;
  constexpr int64_t mostRows = 4; // of a lane: their addresses take registers, too
  const int64_t vector = vectorOf(config.dtype, config.alignment),
                ofBlock = config.warps * lanesPerWarp * vector, length = *config.length;
  if (length > ofWarp) {
    config.rows = 1;
    config.piece = config.piece > 0 ? std::min(config.piece, config.warps * ofWarp) : ofBlock;
    const int64_t tiles = tlc::ceilDiv(length, config.warps * ofWarp * config.cluster) * config.cluster;
    config.columns = alignTo(tlc::ceilDiv(length, tiles), config.piece);
    return;
  }
  if (config.piece == 0) {
    const int64_t least = std::min(tlc::ceilDiv(length, fewPieces), vectorOf(config.dtype, sectorBytes)),
                  piece = std::max({tlc::ceilDiv(length, manyPieces), least, vector});
    config.piece = std::min(int64_t(std::bit_ceil(uint64_t(piece))), lanesPerWarp * vector);
  }
  config.columns = alignTo(length, config.piece);
  const int64_t rowsAtOnce = std::max<int64_t>(ofBlock / config.piece, 1);
  config.rows =
      rowsAtOnce * std::clamp<int64_t>(config.warps * ofWarp / (rowsAtOnce * config.columns), 1, mostRows);
}

/// How many warps take a row of one length that is longer than those of a block that registers hold: so many
/// that L2 has all rows that are under way when they are read again.
int64_t warpsOfLongRow(const SoftmaxProblem &problem, const Target &target) {
  constexpr int64_t ofMultiprocessor = 32, bytesOfL2 = 30 << 20;
  const int64_t bytes = problem.columns * int64_t(sizeInBytes(problem.dtype)),
                blocks = std::max<int64_t>(bytesOfL2 / (bytes * target.multiprocessors), 1);
  return std::clamp(int64_t(std::bit_ceil(uint64_t(ofMultiprocessor / blocks))), someWarps, mostWarps);
}
} // namespace

SoftmaxConfig chooseSoftmaxConfig(const SoftmaxProblem &problem, const Target &target) {
  const int64_t rows = problem.rows, columns = problem.columns, alignment = alignmentOf(problem);
  const ElementType dtype = problem.dtype;
  const bool isUnaligned = alignment < maxSharedVectorBytes;
  SoftmaxConfig config{.dtype = dtype, .warps = leastWarps, .piece = 0};
  if (problem.isForLength.value_or(isUnaligned) && columns > 0) {
    config.length = columns;
    config.alignment = alignment;
  } else if (std::optional<int64_t> width = shortRow(columns, dtype)) {
    // A vector for each thread means more threads. Where rows end within a tile, so that lanes are idle, each
    // thread has more; but not of unaligned rows, which have single elements in a program for any length.
    const int64_t vectors = vectorOf(dtype) * lanesPerWarp;
    bool fillsLanes = columns == *width || isUnaligned;
    config.rows = config.warps * (fillsLanes && *width <= vectors ? vectors : ofWarp) / *width;
  }
  if (columns <= (config.length ? ofWarp : leastWarps / 2 * ofWarp)) {
    fitTile(config, columns);
    return config;
  }
  bool hasFewRows = rows < 4 * int64_t(target.multiprocessors);
  int64_t warps = tlc::ceilDiv(columns, ofWarp);
  config.warps = std::max(warps, hasFewRows ? someWarps : leastWarps);
  if (warps > manyWarps && config.length) {
    config.warps = hasFewRows ? mostWarps : warpsOfLongRow(problem, target);
  } else if (warps > manyWarps) {
    // With the widest tiles L2 holds fewer rows between both passes. Rows of 16 bits gain nothing by it where
    // they are unaligned or leave much of the last tile empty (H200: 4000 x 20000 1.29 times as fast with 8
    // warps, 1024 x 50256 1.17 times, 2000 x 32768 0.97 times; f32 0.76 to 0.94 times).
    const int64_t covered = alignTo(columns, mostWarps * ofWarp);
    bool fillsTiles = !isUnaligned && 10 * covered <= 11 * columns;
    config.warps = hasFewRows || sizeInBytes(dtype) == 4 || fillsTiles ? mostWarps : someWarps;
  }
  // Several blocks for a row where otherwise multiprocessors would have none.
  auto fits = [&](int64_t cluster) {
    return cluster <= int64_t(target.maxClusterSize) && rows * cluster <= target.multiprocessors &&
           cluster / 2 * config.warps * ofWarp < columns;
  };
  while (fits(config.cluster * 2))
    config.cluster *= 2;
  fitTile(config, columns);
  return config;
}

PiecesOfTile piecesOfTile(int64_t columns, std::optional<int64_t> warps) {
  constexpr int64_t most = 256;
  const int64_t ofTile = std::min(columns, warps.value_or(mostWarps) * ofWarp);
  return {.columns = ofTile, .most = most, .least = tlc::ceilDiv(ofTile, most)};
}

void fitTile(SoftmaxConfig &config, int64_t columns) {
  if (config.length)
    return fitPieces(config);
  config.columns = shortRow(columns, config.dtype).value_or(config.warps * ofWarp);
  // Pieces of rows that are read twice take registers for maxima and sums of columns, and save barriers,
  // which few warps do not wait for long (H200, bf16: 1024 x 50256 with 8 warps 0.82 times as fast, 97 x
  // 35032 with 32 warps 1.24 times, 1024 x 128256 1.03 times).
  bool takesTwoPasses = config.columns * config.cluster < columns;
  if (config.piece == 0)
    config.piece = takesTwoPasses && config.warps == mostWarps
                       ? config.warps * lanesPerWarp * vectorOf(config.dtype)
                       : config.columns;
  config.piece = std::min(config.piece, config.columns);
  config.columns = alignTo(config.columns, config.piece);
}

} // namespace tlc::kernels
