// SPDX-License-Identifier: Apache-2.0
/// \file
/// The choice of a GEMM's configuration from its size: the candidate for which the model of its time says the
/// least. No tuning run.
#include "kernels/gemm/TimeModel.h"
#include "runtime/support/Math.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Timing.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <vector>

namespace tlc::kernels {

int64_t stagesThatFit(const GemmConfig &c, const Target &target) {
  auto bytes = int64_t(sizeInBytes(c.dtype));
  BlockBudget block(target, c.residents);
  if (c.split > 1 && c.sum == GemmSum::cluster) {
    block.addBuffer(SharedBytes::tile(c.bm, c.bn * int64_t(sizeInBytes(c.sumType()))));
    block.addBarrier();
  } else if (c.swapped) {
    block.addBuffer(SharedBytes::tile(c.bm, c.bn * int64_t(sizeInBytes(c.turnedType()))));
  } else if (target.tma.available && c.storeRole) {
    block.addBuffer(SharedBytes::tile(c.bm, c.bn * int64_t(sizeInBytes(c.out))));
  } else if (target.tma.available) {
    // Two warpgroups have the tallest tiles, which leave by one panel of each.
    bool isTallest = c.bm > tallestOfOneWarpgroup;
    block.addBuffer({isTallest ? stagingPerWarpgroup / 2 : stagingPerWarpgroup},
                    isTallest ? 2 : c.bm / panelRows);
  }
  SharedBytes a =
      c.aRunsAlongK() ? SharedBytes::tile(c.bm, c.bk * bytes) : SharedBytes::tile(c.bk, c.bm * bytes);
  SharedBytes b =
      c.bRunsAlongK() ? SharedBytes::tile(c.bn, c.bk * bytes) : SharedBytes::tile(c.bk, c.bn * bytes);
  return std::clamp<int64_t>(block.slotsThatFit(BlockBudget::slotBytes({a, b})), 1, 8);
}

int64_t multipleOfColumns(const GemmConfig &config) {
  return config.storeRole ? int64_t(TmaFacts().innerBoxGranularity / sizeInBytes(config.out)) : 1;
}

void fitGemmStages(GemmConfig &config, const Target &target) {
  config.stages = stagesThatFit(config, target);
}

namespace {

bool isUnaligned(int64_t alignment) { return alignment < GemmAlignment::ofTma; }

/// Finds the configurations that are worth considering, and what the model says of each.
class Search {
public:
  Search(const GemmConfig &base, const GemmExtents &extents, const Target &target, LeftFactor left,
         const GemmCandidate &visit)
      : base(base), extents(extents), target(target), left(left), visit(visit),
        isAhead(hasSumsInFlight(base, target)) {}

  void run() {
    for (int64_t bm : {int64_t(128), tallestOfOneWarpgroup, leastRows, tallest})
      for (int64_t bn = 256; bn >= leastColumns; bn -= columnStep)
        if (isWorthwhile(bm, bn))
          considerTile(bm, bn);
    if (isAhead && sizeInBytes(base.dtype) <= 2 &&
        !isUnaligned(base.alignmentOfB)) { // others were not measured
      if (!isUnaligned(base.alignmentOfA))
        for (int64_t bm : {int64_t(128), tallestOfOneWarpgroup, leastRows, tallest})
          considerFitting(bm);
      if (left == LeftFactor::any && base.rowsOfC == GemmRows::any && !base.isBatched && !base.storeRole)
        considerSwapped();
    }
  }

private:
  static constexpr int64_t leastRows = leastProductRows, leastColumns = 16, columnStep = 16;
  static constexpr int64_t usualColumns = 64; ///< narrower tiles only where one is as wide as C
  static constexpr int64_t usualStep = 32;    ///< of columns beyond
  static constexpr int64_t fittingStep = 8;
  static constexpr int64_t mostShared = 4; ///< blocks of a cluster that share what they load

  static constexpr int64_t tallest = 256;

  /// Columns for whose sums the warpgroups of a block have registers: 0 if they have none for such rows. With
  /// another type, with an epilogue and with copies by threads the tallest tiles spill.
  int64_t widestOf(int64_t bm) const {
    constexpr int64_t widest = 256, ofThree = 192, ofTallest = 176;
    if (bm < tallestOfOneWarpgroup)
      return widest;
    if (bm == tallestOfOneWarpgroup)
      return ofThree;
    return isAligned16Bit(base) && sizeInBytes(base.out) == 2 && !base.hasEpilogue() ? ofTallest : 0;
  }

  bool isWorthwhile(int64_t bm, int64_t bn) const {
    constexpr int64_t mostMeasured = 128; // rows
    if (bn > widestOf(bm) || (target.tcgen05 && base.sumType() == ElementType::f32 && bm != tcgen05Rows))
      return false;
    if (!isAhead && (bm > mostMeasured || bn < usualColumns || !std::has_single_bit(uint64_t(bn))))
      return false; // which were not measured
    if (bn < usualColumns ? bn < extents.n : bn % (base.bRunsAlongK() ? usualStep : stepAcross(false)) != 0)
      return false;
    // No tile of which half lies outside.
    int64_t least = isAhead ? leastColumns : usualColumns;
    return (bm == leastRows || 2 * extents.m > bm) && (bn == least || 2 * extents.n > bn);
  }

  /// Of the columns or rows of a tile: whole panels of 128 bytes, where these run along them.
  int64_t stepAcross(bool runsAlongK) const {
    return runsAlongK ? fittingStep : int64_t(maxSwizzleBytes / sizeInBytes(base.dtype));
  }

  /// Tiles as wide as lets all of them, all of their parts, or all of their pairs be computed in whole waves.
  void considerFitting(int64_t bm) {
    constexpr int64_t mostWavesOfParts = 2, mostParts = 3;
    const int64_t mostWaves = isAligned16Bit(base) ? 8 : 2; // others were not measured
    if (bm > leastRows && 2 * extents.m <= bm)
      return;
    int64_t rowTiles = extents.batch * ceilDiv(extents.m, bm);
    for (int64_t waves = 1; waves <= mostWaves; ++waves)
      for (int64_t parts = 1; parts <= (waves > mostWavesOfParts ? 1 : mostParts); ++parts) {
        considerFitting(bm, waves * target.multiprocessors / std::max<int64_t>(rowTiles * parts, 1), parts);
        if (parts == 1) // pairs, of which the last of a column may lack a block
          considerFitting(
              bm, waves * (target.multiprocessors / 2) / std::max<int64_t>(ceilDiv(rowTiles, 2), 1), parts);
      }
  }
  void considerFitting(int64_t bm, int64_t columnTiles, int64_t parts) {
    GemmConfig c = base;
    c.bm = bm;
    c.bn = columnTiles > 0 ? alignTo(ceilDiv(extents.n, columnTiles), stepAcross(c.bRunsAlongK())) : 0;
    c.split = parts;
    if (c.bn < (extents.m > leastRows ? usualColumns : usualStep) || c.bn > widestOf(bm) ||
        parts > mostPartsOf(c))
      return;
    consider(c);
    if (parts == 1)
      considerClusters(c);
  }

  /// Rows of C in a tile with B on the left: where A's memory runs along them, whole panels, or all of a
  /// narrower one.
  int64_t rowsOfSwapped(int64_t least) const {
    int64_t panel = stepAcross(base.aRunsAlongK());
    return least < panel ? std::max<int64_t>(int64_t(std::bit_ceil(uint64_t(least))), fittingStep)
                         : alignTo(least, panel);
  }

  /// With B on the left: where C has few rows, its columns fill the matrix units instead. A few tiles share
  /// all rows.
  void considerSwapped() {
    constexpr int64_t mostRowTiles = 4, mostParts = 4;
    for (int64_t rowTiles = 1; rowTiles <= mostRowTiles; ++rowTiles)
      for (int64_t bn : {leastRows, 2 * leastRows}) {
        GemmConfig c = swapped(rowTiles, bn);
        if (!fits(c))
          continue;
        // Parts of wider ones were never the fastest.
        const int64_t most = bn == leastRows ? std::min(mostParts, mostPartsOf(c)) : 1;
        for (c.split = 1; c.split <= most; ++c.split)
          considerResidents(c);
        c.split = 1;
        considerClusters(c);
      }
    if (isAligned16Bit(base) && !base.hasEpilogue() && sizeInBytes(base.out) == 2)
      for (int64_t bn : {leastRows, 2 * leastRows, tallestOfOneWarpgroup})
        considerFittingSwapped(bn);
  }

  GemmConfig swapped(int64_t rowTiles, int64_t bn) const {
    GemmConfig c = base;
    c.swapped = true;
    c.rowsOfA = isUnaligned(base.alignmentOfA) ? GemmRows::repacked : GemmRows::any;
    c.bm = rowsOfSwapped(std::max<int64_t>(ceilDiv(extents.m, std::max<int64_t>(rowTiles, 1)), 1));
    c.bn = bn;
    return c;
  }
  bool fits(const GemmConfig &c) const { return c.bm <= widestOf(c.bn) && c.bn <= extents.n; }

  /// Tiles with as many rows of C as let all of them, or all of their pairs, be computed in whole waves.
  void considerFittingSwapped(int64_t bn) {
    constexpr int64_t mostWaves = 8, leastStagesOfTurned = 3;
    int64_t columnTiles = std::max<int64_t>(ceilDiv(extents.n, bn), 1);
    for (int64_t waves = 1; waves <= mostWaves; ++waves)
      for (int64_t rowTiles : {waves * target.multiprocessors / columnTiles,
                               waves * (target.multiprocessors / 2) / ceilDiv(columnTiles, 2)}) {
        GemmConfig c = swapped(rowTiles, bn);
        if (!fits(c) || c.bm < usualColumns || stagesThatFit(c, target) < leastStagesOfTurned)
          continue;
        consider(c);
        considerClusters(c);
      }
  }

  /// A second block of the smallest tiles on a multiprocessor, whose copies are in flight, too: more tiles at
  /// once.
  void considerResidents(GemmConfig c) {
    const int64_t most = c.bn == leastRows ? 2 : 1;
    for (c.residents = 1; c.residents <= most; ++c.residents)
      if (c.residents == 1 || stagesThatFit(c, target) >= leastStages)
        consider(c);
  }

  void considerTile(int64_t bm, int64_t bn) {
    GemmConfig c = base;
    c.bm = bm;
    c.bn = bn;
    considerWays(c);
    constexpr int64_t largestSum = 160; // of rows and columns for which long steps were faster
    c.bk = 2 * base.bk;
    if (isAhead && extents.k > base.bk && bm + bn <= largestSum && stagesThatFit(c, target) >= leastStages)
      considerWays(c);
  }

  void considerWays(GemmConfig c) {
    for (GemmRows rowsOfA : waysOf(base.alignmentOfA))
      for (GemmRows rowsOfB : waysOf(base.alignmentOfB)) {
        c.rowsOfA = rowsOfA;
        c.rowsOfB = rowsOfB;
        consider(c);
        considerClusters(c);
        considerParts(c);
      }
  }

  void consider(const GemmConfig &c) {
    constexpr double repackingGain = 1.3; // that repacking must have
    bool isRepacked =
        !c.swapped && (c.rowsOfA == GemmRows::repacked || c.rowsOfB == GemmRows::repacked); // few rows else
    visit(c, gemmTime(c, extents, target).sum * (isRepacked ? repackingGain : 1));
  }

  /// Blocks that share what the TMA loads: less for L2 to serve.
  void considerClusters(GemmConfig c) {
    if (!isAhead || c.rowsOfA == GemmRows::unaligned || c.rowsOfB == GemmRows::unaligned ||
        c.isBatched || // whose neighbours may be of two images
        c.bk != base.bk || c.productColumns() < (c.swapped ? usualStep : usualColumns))
      return;
    for (c.cluster = 2; c.cluster <= std::min<int64_t>(mostShared, target.maxClusterSize); c.cluster *= 2) {
      // Clusters of four that take several tiles each, and those with few slots, waited for each other.
      if (stagesThatFit(c, target) < leastStages ||
          (c.cluster > 2 && tilesOf(c) > double(clustersAtOnce(target, c.cluster) * c.cluster)))
        break;
      for (auto [axis, tile, extent, shared] : {std::tuple(dsl::ClusterAxis::rows, c.bm, extents.m, c.bn),
                                                {dsl::ClusterAxis::columns, c.bn, extents.n, c.bm}}) {
        c.clusterAxis = axis;
        // Each loads a part of it, and most have neighbours.
        if (extent > c.cluster / 2 * tile && shared % (c.cluster * fittingStep) == 0)
          consider(c);
      }
    }
  }

  double tilesOf(const GemmConfig &c) const {
    return double(extents.batch) * double(ceilDiv(extents.m, c.bm)) * double(ceilDiv(extents.n, c.bn));
  }

  /// As many as there are multiprocessors for, of several steps each.
  int64_t mostPartsOf(const GemmConfig &c) const {
    constexpr int64_t mostParts = 8, leastSteps = 4;
    return std::max<int64_t>(
        1, std::min({mostParts, ceilDiv(extents.k, leastSteps * c.bk),
                     int64_t(2 * double(target.multiprocessors) / std::max(tilesOf(c), 1.0))}));
  }

  /// Less for each block.
  void considerParts(GemmConfig c) {
    double tiles = tilesOf(c);
    int64_t most = mostPartsOf(c);
    if (c.bn % usualColumns == 0 || c.bn >= extents.n)
      for (c.split = 2; c.split <= most; ++c.split)
        consider(c);
    if (!isAhead || c.isBatched || c.rowsOfA == GemmRows::unaligned || c.rowsOfB == GemmRows::unaligned)
      return; // which were not measured
    // Larger tiles were faster by a launch wherever both were measured: a cluster's sums take up to three
    // times what the model says.
    if (c.bm * c.bn > leastRows * usualColumns)
      return;
    c.sum = GemmSum::cluster;
    // All tiles at once: a block starts no tile before it has summed the one before.
    for (c.split = 2; c.split <= std::min(most, int64_t(target.maxClusterSize)); c.split *= 2)
      if (tiles <= double(clustersAtOnce(target, c.split)) && stagesThatFit(c, target) >= leastStages)
        consider(c);
  }

  std::vector<GemmRows> waysOf(int64_t alignment) const {
    if (!isUnaligned(alignment))
      return {GemmRows::any};
    return target.tma.available ? std::vector{GemmRows::unaligned, GemmRows::repacked}
                                : std::vector{GemmRows::unaligned};
  }

  const GemmConfig &base;
  GemmExtents extents;
  const Target &target;
  LeftFactor left;
  const GemmCandidate &visit;
  const bool isAhead; ///< with sums in flight, as all that is considered was measured
};

} // namespace

void forEachGemmCandidate(const GemmExtents &extents, const GemmConfig &problem, const Target &target,
                          GemmAlignment alignment, LeftFactor left, const GemmCandidate &visit) {
  GemmConfig base = problem;
  base.bk = gemmStep(problem.dtype);
  base.group = 16;
  base.policy = hasSumsInFlight(base, target) ? dsl::WarpPolicy::fullRow
                                              : dsl::WarpPolicy::square; // no warp then reads all of B
  base.rowsOfC = isUnaligned(alignment.c) ? GemmRows::unaligned : GemmRows::any;
  base.alignmentOfA = alignment.a;
  base.alignmentOfB = alignment.b;
  Search(base, extents, target, left, visit).run();
}

GemmConfig chooseGemmConfig(const GemmExtents &extents, const GemmConfig &problem, const Target &target,
                            GemmAlignment alignment, LeftFactor left) {
  GemmConfig best = problem;
  double leastCycles = std::numeric_limits<double>::infinity();
  forEachGemmCandidate(extents, problem, target, alignment, left,
                       [&](const GemmConfig &config, double cycles) {
                         if (cycles < leastCycles) {
                           leastCycles = cycles;
                           best = config;
                         }
                       });
  fitGemmStages(best, target);
  return best;
}

} // namespace tlc::kernels
