// SPDX-License-Identifier: Apache-2.0
/// \file
/// What threads pass on through words that they access strongly: flags, locks,
/// counters, in shared and in global memory.
#pragma once

#include "runtime/emulator/check/ThreadClocks.h"

#include <unordered_map>

namespace tlc::emulator {

class FlagOrder {
public:
  FlagOrder(Cluster &cluster, LaunchRaces &launch, ThreadClocks &clocks)
      : cluster(cluster), launch(launch), clocks(clocks), reads(clocks.warps().size()) {}

  /// In shared memory; `flag` is the block and the address.
  void acquire(WarpClock &warpClock, const Touch &access, uint64_t flag);
  void release(WarpClock &warpClock, const Touch &access, uint64_t flag);
  /// In global memory. What a read saw is known once it is done: `takeReads`, before the warp's next
  /// instruction.
  void read(const WarpClock &warpClock, const Touch &access);
  void takeReads(const Warp &warp) {
    if (pendingReads != 0)
      takeReadsOf(clocks.clockOf(warp));
  }
  void releaseGlobal(WarpClock &warpClock, const Touch &access);

private:
  struct Read {
    uint64_t address = 0;
    unsigned lane = 0;
    AccessOrdering ordering = AccessOrdering::relaxed;
    Scope scope = Scope::gpu;
  };
  void takeReadsOf(WarpClock &warpClock);
  void publish(uint64_t address, Reach reach, Knowledge known);

  Cluster &cluster;
  LaunchRaces &launch;
  ThreadClocks &clocks;
  std::unordered_map<uint64_t, PassedKnowledge> flags; ///< of shared memory
  size_t pendingReads = 0;                             ///< of all warps
  std::vector<std::vector<Read>> reads;                ///< by warp: of the instruction that ran last
};

} // namespace tlc::emulator
