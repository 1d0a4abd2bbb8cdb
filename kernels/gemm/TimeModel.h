// SPDX-License-Identifier: Apache-2.0
/// \file
/// A model of a GEMM's time, by which its configuration is chosen. A rough one: the parts of the device that
/// may limit a launch, each by what it has to do, and what they add up to.
#pragma once

#include "kernels/gemm/Gemm.h"
#include "runtime/target/Target.h"

namespace tlc::kernels {

/// Fitted by `tlc-gemm-fit`; docs/performance/gemm.md has the measurements and the residuals.
struct GemmTimeConstants {
  // Of a multiprocessor.
  double loadShare = 1;         ///< of the rate of its port to L2 that copies reach
  double sharedWrites = 0.7333; ///< of what copies write to shared memory, in its way of what products read
  double stepCycles = 1;        ///< of a step along k, beside the unit that takes longest
  double tileCycles = 2161;     ///< from a tile's first copy to its last product, and its end
  double storeShare = 0.3863;   ///< of the rate of its port to L2 at which the TMA stores a tile
  double threadStores = 0.1358; ///< at which threads do, where its columns end within a panel
  /// Bytes a cycle that threads copy, two at once; as many times more at once take as long. And that they
  /// store to unaligned rows of C by panels.
  double unalignedBytes = 5.2;
  double unalignedStores = 1.4;    ///< that they store there where columns end within a panel
  double clusterLoss = 0.02084;    ///< of a block's time, spent in waiting for its cluster
  double clusterSumCycles = 1255;  ///< of a tile whose parts a cluster sums: its barriers
  double clusterSumShare = 0.2256; ///< of shared memory's rate at which its blocks read each other's sums

  // Of L2.
  double l2Share = 1;          ///< of the ports' rates together that it serves
  double sharedLines = 0.4444; ///< requests left where rows begin at lines: neighbours ask for the same ones
  double dividedSectors = 1.839; ///< sectors for each one asked for where rows do not begin at sectors
  double multicast = 1.1;        ///< requests for each one of a block whose answer goes to a whole cluster

  // Of memory.
  double memoryShare = 0.9804;  ///< of its rate that operands and the result reach
  double zeroRows = 1.084;      ///< by so much times the zeros for each row of operands memory takes longer
  double idleLoss = 0.5007;     ///< by so much times the share of idle multiprocessors memory takes longer
  double partialShare = 1.652;  ///< where partial sums go there in one burst
  double repackingShare = 0.62; ///< where operands are copied element by element

  double overlapLoss = 0.2233; ///< of all parts but the longest, whose time is not hidden by it
  double launchCycles = 2690;  ///< of each launch
};

/// True for 16-bit factors whose rows, and those of the result, the TMA copies.
bool isAligned16Bit(const GemmConfig &problem);

/// True if registers have sums of products that run on while threads start others.
bool hasSumsInFlight(const GemmConfig &problem, const Target &target);

/// What the model is fitted to for that problem: 16-bit factors and aligned rows on an H200, or, with other
/// types and rows, both cards and all shapes of an earlier fit.
GemmTimeConstants timeConstantsOf(const GemmConfig &problem);

/// In clock cycles. `blocks`, `l2` and `memory` go on at the same time, `combine` and `repacking` by
/// themselves.
struct GemmTime {
  double blocks = 0;    ///< the multiprocessor with the most tiles
  double l2 = 0;        ///< sectors that L2 serves
  double memory = 0;    ///< operands and the result, once
  double combine = 0;   ///< the launch that adds partial sums, or what a cluster takes for it
  double repacking = 0; ///< the launch that repacks operands
  double sum = 0;       ///< from the first launch to the end of the last
};

GemmTime gemmTime(const GemmConfig &config, const GemmExtents &extents, const Target &target,
                  const GemmTimeConstants &constants = {});

} // namespace tlc::kernels
