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
  double copyLatency = 1140;       ///< cycles from a copy's issue to its use, in which a slot serves one step
  double tileCycles = 1002;        ///< from a tile's first copy to its last product, and its end
  double storeShare = 0.5329;      ///< of the rate of its port to L2 at which the TMA stores a tile
  double threadStores = 0.1207;    ///< at which threads do, where its columns end within a panel
  double turnedStores = 0.4694;    ///< at which tiles of swapped products turn in shared memory and leave
  double threadCopies = 2.6;       ///< of unaligned rows in a cycle, an element each
  double asyncCopies = 2;          ///< likewise by cp.async, as wide as their alignment allows
  double unalignedPanels = 5.2;    ///< bytes of a cycle that threads store to unaligned rows of C by panels
  double unalignedStores = 1.4;    ///< that they store there where columns end within a panel
  double clusterLoss = 0.01209;    ///< of a block's time, for each doubling of its cluster
  double clusterSumCycles = 928;   ///< of a tile whose parts a cluster sums: its barriers
  double clusterSumShare = 0.1498; ///< of shared memory's rate at which its blocks read each other's sums

  // Of L2.
  double l2Share = 0.691;      ///< of the ports' rates together that it serves
  double sharedLines = 0.4012; ///< requests left where rows begin at lines: neighbours ask for the same ones
  double dividedSectors = 1.135; ///< sectors for each one asked for where rows do not begin at sectors

  // Of memory.
  double memoryShare = 0.8974;  ///< of its rate that operands and the result reach
  double zeroRows = 0.7643;     ///< by so much times the zeros for each row of operands memory takes longer
  double idleLoss = 0.1122;     ///< by so much times the share of idle multiprocessors memory takes longer
  double partialShare = 1;      ///< where partial sums go there in one burst
  double repackingShare = 0.62; ///< where operands are copied element by element

  double memoryLoss = 1.627;  ///< of the time of memory, by which blocks take longer
  double launchCycles = 2893; ///< of each launch
};

/// True for 16-bit factors whose rows, and those of the result, the TMA copies.
bool isAligned16Bit(const GemmConfig &problem);

/// True if registers have sums of products that run on while threads start others.
bool hasSumsInFlight(const GemmConfig &problem, const Target &target);

/// In clock cycles. `blocks` and `memory` overlap; `combine` and `repacking` overlap with nothing.
struct GemmTime {
  double blocks = 0;    ///< the multiprocessor with the most tiles, with its wait for memory
  double memory = 0;    ///< operands and the result, once
  double combine = 0;   ///< the launch that adds partial sums, or what a cluster takes for it
  double repacking = 0; ///< the launch that repacks operands
  double sum = 0;       ///< from the first launch to the end of the last
};

GemmTime gemmTime(const GemmConfig &config, const GemmExtents &extents, const Target &target,
                  const GemmTimeConstants &constants = {});

} // namespace tlc::kernels
