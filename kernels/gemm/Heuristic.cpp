// SPDX-License-Identifier: Apache-2.0
/// \file
/// The choice of a GEMM's configuration from its size: a rough model of the time
/// in clock cycles, and the candidate for which it is shortest. No tuning run.
#include "kernels/gemm/Gemm.h"
#include "runtime/support/Math.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Timing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

namespace tlc::kernels {

namespace {

// Fitted to an H200; docs/performance/gemm.md says how.
constexpr int64_t bk = maxSwizzleBytes / 2; // of 16-bit elements: rows of the widest swizzle
constexpr double partialShare = 0.61;       // of the memory's rate, where partial sums go there in one burst
constexpr double tileOverhead = 2000;   // cycles from a tile's first copy to its last product, and its end
constexpr double launchOverhead = 3000; // of a second launch, in cycles
constexpr double repackingShare = 0.62; // of the memory's rate, where operands are copied element by element
constexpr double repackingMargin = 1.2; // what repacking small operands takes longer than that
constexpr double repackingGain = 1.4;   // that repacking must have: this model flatters it by as much
constexpr double unalignedBytesPerCycle =
    5.2;                           // that the threads of a multiprocessor copy, element by element
constexpr double chipWeight = 0.1; // of time on the chip where memory is what takes longest
constexpr int64_t stagingPerWarpgroup = 2 * panelRows * maxSwizzleBytes; // a tile leaves by panels

/// Elements of a row of both operands that the warps of a block read for a tile: each warpgroup its rows of A
/// and all of B, or, by mma.sync, each warp its rows and columns, which are about as many.
int64_t elementsRead(int64_t bm, int64_t bn, const Target &target) {
  int64_t warpgroups = ceilDiv(bm, wgmmaRows);
  if (target.wgmma)
    return warpgroups * (wgmmaRows + bn);
  int64_t warps = warpgroups * warpsPerWarpgroup, fewest = std::numeric_limits<int64_t>::max();
  for (int64_t alongM = 1; alongM <= warps; alongM *= 2)
    fewest = std::min(fewest, bm * (warps / alongM) + bn * alongM);
  return fewest;
}

struct Problem {
  int64_t m, n, k;
  const Target &target;
  const TimingFacts &timing;
  double memoryPerCycle; ///< bytes that the device gets from memory

  /// A launch that reads and writes these operands.
  double repacking(const GemmConfig &c) const {
    double elements = (c.rowsOfA == GemmRows::repacked ? double(m) * double(k) : 0) +
                      (c.rowsOfB == GemmRows::repacked ? double(n) * double(k) : 0);
    double copies = 2 * elements * 2 / (repackingShare * memoryPerCycle);
    return elements > 0 ? repackingMargin * (copies + tileOverhead + launchOverhead) : 0;
  }

  double cycles(const GemmConfig &c) const {
    auto [bm, bn, split] = std::array{c.bm, c.bn, c.split};
    double tiles = double(ceilDiv(m, bm)) * double(ceilDiv(n, bn)) * double(split);
    double waves = std::ceil(tiles / double(target.multiprocessors));
    double steps = double(ceilDiv(ceilDiv(k, bk), split));
    double share = target.wgmma ? 1 : timing.mmaSyncShare;
    double product = double(bm * bn * bk) / (timing.multiplyAddsPerCycle * share);
    double bytes = double((bm + bn) * bk * 2);
    // What lies outside of the operands costs threads little.
    double unaligned =
        (c.rowsOfA == GemmRows::unaligned ? double(std::min(m, bm) * std::min(k, bk) * 2) : 0) +
        (c.rowsOfB == GemmRows::unaligned ? double(std::min(n, bn) * std::min(k, bk) * 2) : 0);
    double operands = double(elementsRead(bm, bn, target) * bk * 2);
    double step =
        std::max({product, bytes / timing.loadBytesPerCycle, (bytes + operands) / timing.sharedBytesPerCycle,
                  unaligned / unalignedBytesPerCycle});
    double chip = waves * (steps * step + tileOverhead);
    double memory = double(m + n) * double(k) * 2 / memoryPerCycle;
    double combine =
        split > 1
            ? 2 * double(split) * double(m) * double(n) * 4 / (partialShare * memoryPerCycle) + launchOverhead
            : 0;
    return std::max(chip, memory) + chipWeight * chip + combine + repacking(c);
  }
};

/// As many as fit beside what the epilogue by the TMA needs, eight at most: more hide nothing.
int64_t chooseStages(const GemmConfig &c, const Target &target) {
  constexpr int64_t bytes = 2; // of an element
  BlockBudget block(target);
  if (target.tma.available && c.storeRole)
    block.addBuffer(SharedBytes::tile(c.bm, c.bn * int64_t(sizeInBytes(c.out))));
  else if (target.tma.available)
    block.addBuffer({stagingPerWarpgroup}, c.bm / wgmmaRows);
  SharedBytes a = SharedBytes::tile(c.bm, c.bk * bytes);
  SharedBytes b = c.layout == GemmLayout::tn ? SharedBytes::tile(c.bn, c.bk * bytes)
                                             : SharedBytes::tile(c.bk, c.bn * bytes);
  return std::clamp<int64_t>(block.slotsThatFit(BlockBudget::slotBytes({a, b})), 1, 8);
}

} // namespace

int64_t multipleOfColumns(const GemmConfig &config) {
  return config.storeRole ? int64_t(TmaFacts().innerBoxGranularity / sizeInBytes(config.out)) : 1;
}

void fitGemmStages(GemmConfig &config, const Target &target) { config.stages = chooseStages(config, target); }

GemmConfig chooseGemmConfig(int64_t m, int64_t n, int64_t k, ElementType dtype, ElementType out,
                            GemmLayout layout, const Target &target, GemmUnaligned unaligned) {
  const TimingFacts &timing = timingOf(target);
  Problem problem{m, n, k, target, timing, timing.memoryBytesPerSecond / (timing.clockGhz * 1e9)};
  GemmConfig best{.dtype = dtype, .out = out, .layout = layout, .bk = bk};
  best.rowsOfC = unaligned.c ? GemmRows::unaligned : GemmRows::any;
  double shortest = std::numeric_limits<double>::infinity();
  auto waysOf = [&](bool isUnaligned) {
    std::vector<GemmRows> ways = {isUnaligned ? GemmRows::unaligned : GemmRows::any};
    if (isUnaligned && target.tma.available)
      ways.push_back(GemmRows::repacked);
    return ways;
  };
  // Large tiles first: among equals they read the least.
  constexpr int64_t leastTile = 64, mostParts = 16, leastSteps = 4;
  auto isHalfOutside = [](int64_t tile, int64_t extent) { return tile > leastTile && extent <= tile / 2; };
  for (int64_t bm : {128, 64})
    for (int64_t bn : {256, 128, 64}) {
      if (isHalfOutside(bm, m) || isHalfOutside(bn, n))
        continue;
      for (int64_t split = 1; split <= mostParts; ++split) {
        if (split > 1 && split > ceilDiv(k, leastSteps * bk))
          break;
        for (GemmRows rowsOfA : waysOf(unaligned.a))
          for (GemmRows rowsOfB : waysOf(unaligned.b)) {
            GemmConfig config = best;
            std::tie(config.bm, config.bn, config.split) = std::tuple(bm, bn, split);
            std::tie(config.rowsOfA, config.rowsOfB) = std::tuple(rowsOfA, rowsOfB);
            bool isRepacked = rowsOfA == GemmRows::repacked || rowsOfB == GemmRows::repacked;
            double cycles = problem.cycles(config) * (isRepacked ? repackingGain : 1);
            if (cycles >= shortest)
              continue;
            shortest = cycles;
            best = config;
          }
      }
    }
  best.group = 16;
  if (!target.wgmma)
    best.policy = dsl::WarpPolicy::square; // no warp then reads all of B
  fitGemmStages(best, target);
  return best;
}

} // namespace tlc::kernels
