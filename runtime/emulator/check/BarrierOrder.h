// SPDX-License-Identifier: Apache-2.0
/// \file
/// What threads pass on at barriers: named ones, the cluster's, mbarriers.
#pragma once

#include "runtime/emulator/check/ThreadClocks.h"

#include <unordered_map>

namespace tlc::emulator {

class BarrierOrder {
public:
  BarrierOrder(ThreadClocks &clocks, size_t blocks) : clocks(clocks), named(blocks * namedBarriers) {}

  void arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival);
  void completeNamed(const Block &block, unsigned id);

  void arriveCluster(const Warp &warp, uint32_t lanes, Ordering ordering);
  void completeCluster();
  void waitCluster(const Warp &warp, uint32_t lanes);

  void arriveMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                      Scope scope);
  void completePhase(const Block &block, uint32_t address);
  void waitMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                    Scope scope);

  /// What arrivals give to those who wait.
  struct Phases {
    ClockEntry entry = 0;
    uint32_t completed = 0;
    PassedKnowledge arrived, done;
  };
  Phases &phasesOf(const Block &block, uint32_t address);

private:
  struct NamedPhase {
    Knowledge arrived;
    ByReach<Knowledge> released; ///< of that, what fences follow
    std::vector<const Warp *> waiting;
  };

  ThreadClocks &clocks;
  std::vector<NamedPhase> named;
  Knowledge clusterArrived, clusterDone;
  std::unordered_map<uint64_t, Phases> mbarriers;
};

} // namespace tlc::emulator
