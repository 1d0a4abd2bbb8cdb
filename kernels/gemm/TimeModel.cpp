// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/TimeModel.h"

#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/MmaAtoms.h"
#include "runtime/target/Timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlc::kernels {

namespace {

constexpr int64_t sumBytes = 4;

/// Elements of a row of both operands that are read for a tile: by each asynchronous instruction its rows of
/// A and all of B, or, by mma.sync, by each warp its rows and columns, which are about as many.
int64_t elementsRead(int64_t bm, int64_t bn, int64_t rowsInFlight) {
  if (rowsInFlight > 0)
    return ceilDiv(bm, rowsInFlight) * (rowsInFlight + bn);
  int64_t warps = ceilDiv(bm, mmaSyncRows * warpsPerWarpgroup) * warpsPerWarpgroup,
          fewest = std::numeric_limits<int64_t>::max();
  for (int64_t alongM = 1; alongM <= warps; alongM *= 2)
    fewest = std::min(fewest, bm * (warps / alongM) + bn * alongM);
  return fewest;
}

/// Rows of the instruction that computes the products; 0 for mma.sync.
int64_t rowsOfAsynchronousAtom(const GemmConfig &c, const Target &target) {
  const MmaAtom *atom = findFastestAtom(target, c.dtype, c.elementOfB(), c.sumType());
  return atom && atom->isAsynchronous() ? int64_t(atom->m) : 0;
}

class Model {
public:
  Model(const GemmConfig &config, const GemmExtents &extents, const Target &target,
        const GemmTimeConstants &constants)
      : c(config), e(extents), target(target), timing(timingOf(target)), by(constants),
        rowsInFlight(rowsOfAsynchronousAtom(c, target)), stages(stagesThatFit(c, target)),
        elementBytes(int64_t(sizeInBytes(c.dtype))), rowTiles(e.batch * ceilDiv(e.m, c.bm)),
        columnTiles(ceilDiv(e.n, c.bn)) {}

  GemmTime time() const {
    GemmTime time{.blocks = blocks(),
                  .memory = memory(),
                  .combine = c.split == 1      ? 0
                             : sumsInCluster() ? clusterSum()
                                               : combine(),
                  .repacking = repacking()};
    time.sum = by.launchCycles + together({time.blocks, time.memory}) + time.combine + time.repacking;
    return time;
  }

private:
  double memoryPerCycle() const { return timing.memoryBytesPerSecond / (timing.clockGhz * 1e9); }
  bool sumsInCluster() const { return c.split > 1 && c.sum == GemmSum::cluster; }
  bool hasWorkspace() const { return c.split > 1 && !sumsInCluster(); }
  int64_t resultBytes() const {
    return hasWorkspace() ? sumBytes : int64_t(sizeInBytes(c.out)); // of an element that a block stores
  }

  /// Along k, of a tile.
  double steps() const { return std::max(double(ceilDiv(ceilDiv(e.k, c.bk), c.split)), 1.0); }

  /// One of them.
  double step() const {
    constexpr double rateBytes = 2; // of the elements whose rate is known; it is inverse to their bytes
    double product = double(c.productRows() * c.productColumns() * c.bk) * double(elementBytes) / rateBytes /
                     (timing.multiplyAddsPerCycle * (rowsInFlight > 0 ? 1 : timing.mmaSyncShare));
    double read =
        double(elementsRead(c.productRows(), c.productColumns(), rowsInFlight) * c.bk * elementBytes);
    double rowsOfA = double(std::min(e.m, c.bm)), rowsOfB = double(std::min(e.n, c.bn));
    double rowBytes = double(std::min(e.k, c.bk) * elementBytes);
    double loaded = (rowsOfA + rowsOfB) * rowBytes / timing.loadBytesPerCycle;
    auto cycles = [&](GemmRows rows, int64_t alignment) { // of a row that threads copy
      if (rows != GemmRows::unaligned)
        return 0.0;
      return rowBytes / double(alignment) / (alignment < minCpAsyncBytes ? by.threadCopies : by.asyncCopies);
    };
    // Across k each row of a tile is a copy, however few of its elements there are.
    double copiedOfA = c.aRunsAlongK() ? rowsOfA : double(c.bm),
           copiedOfB = c.bRunsAlongK() ? rowsOfB : double(c.bn);
    double byThreads =
        copiedOfA * cycles(c.rowsOfA, c.alignmentOfA) + copiedOfB * cycles(c.rowsOfB, c.alignmentOfB);
    // The copies of the first steps are all in flight at once.
    double later = std::max(0.0, 1 - double(stages) / steps()),
           latency = later * by.copyLatency / freeSlots();
    const double sharing = sharingBlocks();
    return together({sharing * product, sharing * read / timing.sharedBytesPerCycle, sharing * loaded,
                     sharing * byThreads, latency, servedByL2(rowsOfA, rowsOfB, rowBytes)});
  }

  /// What a step takes of which no part takes as long all the time: the longest part, and more where others
  /// are nearly as long.
  static double together(std::initializer_list<double> parts) {
    double sum = 0;
    for (double part : parts)
      sum += part * part * part * part;
    return std::sqrt(std::sqrt(sum));
  }

  int64_t blocksOfCluster() const { return sumsInCluster() ? c.split : c.cluster; }
  /// Blocks that share loads are neighbours along one axis, the last of which may have none.
  double clusters() const {
    bool alongRows = c.clusterAxis == dsl::ClusterAxis::rows;
    double down = double(alongRows ? ceilDiv(rowTiles, c.cluster) : rowTiles),
           across = double(alongRows ? columnTiles : ceilDiv(columnTiles, c.cluster));
    return sumsInCluster() ? double(rowTiles) * double(columnTiles) : down * across * double(c.split);
  }
  double waves() const {
    return std::ceil(clusters() / double(clustersAtOnce(target, blocksOfCluster()) * c.residents));
  }
  /// Blocks that run on a multiprocessor at once.
  double sharingBlocks() const {
    return std::clamp(std::ceil(clusters() / double(clustersAtOnce(target, blocksOfCluster()))), 1.0,
                      double(c.residents));
  }
  /// Of multiprocessors, until the last tile is done. Blocks that share one get more of memory each the fewer
  /// there are.
  double idleShare() const {
    double turns = std::ceil(clusters() / double(clustersAtOnce(target, blocksOfCluster()) * c.residents));
    double sharing = turns > 1 ? turns * double(c.residents) : 1;
    double busy = clusters() * double(blocksOfCluster()) / (sharing * double(target.multiprocessors));
    return 1 - std::min(busy, 1.0);
  }

  double blocks() const {
    double tiles = waves() * (steps() * step() + by.tileCycles) + storing(waves());
    return tiles * (1 + by.clusterLoss * std::log2(double(c.cluster))) + by.memoryLoss * memory();
  }

  /// Beside the one whose product has just begun.
  double freeSlots() const { return double(std::max<int64_t>(stages - 1, 1)); }

  /// Of the tiles of a block. The TMA stores a tile while the next one is computed, threads before that.
  double storing(double tiles) const {
    double stored = double(std::min(e.m, c.bm) * std::min(e.n, c.bn) * resultBytes());
    if (sumsInCluster()) // each block its share of the rows
      stored /= double(c.split);
    constexpr int64_t panelElementBytes = 2; // of which tiles leave by panels
    bool hasWholePanels = c.split == 1 && !c.swapped && sizeInBytes(c.out) == panelElementBytes &&
                          c.bn * panelElementBytes % (maxSwizzleBytes / 2) == 0;
    if (c.isStoredTurned())
      return tiles * stored / (by.turnedStores * timing.storeBytesPerCycle);
    if (c.rowsOfC == GemmRows::unaligned)
      return tiles * stored / (hasWholePanels ? by.unalignedPanels : by.unalignedStores);
    // The tallest tiles leave through one panel of each warpgroup, which the product waits for.
    double storedAlone = c.bm > tallestOfOneWarpgroup ? tiles : 1;
    return hasWholePanels ? storedAlone * stored / (by.storeShare * timing.storeBytesPerCycle)
                          : tiles * stored / (by.threadStores * timing.storeBytesPerCycle);
  }

  /// Bytes that L2 serves for each one that is asked for, of rows of so many elements.
  double sectorsOf(int64_t columns, GemmRows rows) const {
    constexpr int64_t sectorBytes = 32, lineBytes = 128;
    int64_t bytes = columns * elementBytes;
    if (rows == GemmRows::repacked)
      bytes = alignTo(bytes, int64_t(TmaFacts().globalAlignment));
    return bytes % lineBytes == 0 ? by.sharedLines : bytes % sectorBytes == 0 ? 1 : by.dividedSectors;
  }

  /// What L2 takes for a step of all blocks that run at once.
  double servedByL2(double rowsOfA, double rowsOfB, double rowBytes) const {
    double ofA = rowsOfA * sectorsOf(c.aRunsAlongK() ? e.k : e.m, c.rowsOfA),
           ofB = rowsOfB * sectorsOf(c.bRunsAlongK() ? e.k : e.n, c.rowsOfB);
    if (c.cluster > 1)
      (c.clusterAxis == dsl::ClusterAxis::rows ? ofB : ofA) /= double(c.cluster);
    double atOnce = std::min(clusters() * double(blocksOfCluster()),
                             double(target.multiprocessors) * double(c.residents));
    return atOnce * (ofA + ofB) * rowBytes /
           (by.l2Share * double(target.multiprocessors) * timing.loadBytesPerCycle);
  }

  double memory() const {
    double operands = double(e.batch) * (double(e.m) + double(e.n)) * double(e.k) * double(elementBytes);
    double result = hasWorkspace() ? 0 : double(e.batch * e.m) * double(e.n) * double(resultBytes());
    double loaded = double(c.bm + c.bn), rows = double(e.batch * e.m) / std::max(double(rowTiles), 1.0) +
                                                double(e.n) / std::max(double(columnTiles), 1.0);
    double zeros = rows > 0 ? loaded / rows - 1 : 0;
    return (operands * (1 + by.zeroRows * zeros) + result) * (1 + by.idleLoss * idleShare()) /
           (by.memoryShare * memoryPerCycle());
  }

  double combine() const {
    double written = double(c.split) * double(e.batch * e.m) * double(e.n) * double(sumBytes);
    return 2 * written / (by.partialShare * memoryPerCycle()) + by.launchCycles;
  }

  /// The blocks of a cluster write a tile of sums each, and read as many from each other.
  double clusterSum() const {
    double moved = 2 * double(c.bm * c.bn * sumBytes);
    return waves() * (by.clusterSumCycles + moved / (by.clusterSumShare * timing.sharedBytesPerCycle));
  }

  double repacking() const {
    double elements = double(e.batch) * ((c.rowsOfA == GemmRows::repacked ? double(e.m) * double(e.k) : 0) +
                                         (c.rowsOfB == GemmRows::repacked ? double(e.n) * double(e.k) : 0));
    constexpr double margin = 1.2, launch = 6500; // what repacking small operands takes longer than its bytes
    double copies = 2 * elements * double(elementBytes) / (by.repackingShare * memoryPerCycle());
    return elements > 0 ? margin * copies + launch : 0;
  }

  const GemmConfig &c;
  const GemmExtents &e;
  const Target &target;
  const TimingFacts &timing;
  const GemmTimeConstants &by;
  int64_t rowsInFlight; ///< of an asynchronous instruction; 0 for mma.sync
  int64_t stages;
  int64_t elementBytes; ///< of A and B
  int64_t rowTiles, columnTiles;
};

} // namespace

bool isAligned16Bit(const GemmConfig &problem) {
  constexpr int64_t aligned = GemmAlignment::ofTma;
  return sizeInBytes(problem.dtype) == 2 && problem.alignmentOfA >= aligned &&
         problem.alignmentOfB >= aligned && problem.rowsOfC == GemmRows::any;
}

bool hasSumsInFlight(const GemmConfig &problem, const Target &target) {
  return tlc::hasSumsInFlight(target, problem.dtype, problem.elementOfB(), problem.sumType());
}

GemmTime gemmTime(const GemmConfig &config, const GemmExtents &extents, const Target &target,
                  const GemmTimeConstants &constants) {
  return Model(config, extents, target, constants).time();
}

} // namespace tlc::kernels
