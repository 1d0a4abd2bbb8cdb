// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a finding says: both accesses, the memory, what is missing between them.
#pragma once

#include "runtime/emulator/check/OperationOrder.h"

namespace tlc::emulator {

class RaceReport {
public:
  RaceReport(Cluster &cluster, const LaunchRaces &launch, const ThreadClocks &clocks,
             const OperationOrder &operations)
      : cluster(cluster), launch(launch), clocks(clocks), operations(operations) {}

  void report(Warp &warp, const Instruction &instruction, const Record &now, const Conflict &conflict,
              const std::string &place) const;
  void reportOverlap(Warp &warp, const Instruction &instruction, unsigned first, unsigned second, Space space,
                     uint64_t address) const;
  std::string placeOfGlobal(uint64_t address) const;
  std::string placeOf(unsigned block, uint32_t address) const;
  std::string nameOfWarp(unsigned index) const;

private:
  const Instruction &instructionOf(const Record &record) const;
  FindingSite siteOfRecord(const Record &record) const;
  std::string describe(const Record &record) const;
  /// Whether the lane of a cp.async waits for it, further up in the program than the other access, or has
  /// waited before.
  bool isAwaited(const Record &copy, const Record &access) const;
  bool hasWaited(const Record &copy, const Record &now) const;
  std::string missingWait(const Record &record) const;
  std::string missingBarrier(unsigned waiting, unsigned other) const;
  /// For an access that should come after an operation that was issued before, or after any access.
  std::string missingAfter(const Record &operation, const Record &access) const;
  std::string missingOrder(const Record &first, const Record &second) const;
  std::string missing(const Record &before, const Record &now) const;
  std::string missingBetweenClusters(const Record &before, const Record &now) const;
  /// True if both are ordinary writes of one store, of the same iteration: of a scatter to equal positions,
  /// or of tiles that overlap.
  bool areOfOneStore(const Record &before, const Record &now, const Finding &finding) const;
  std::string missingFence(const Record &before, const Record &now) const;

  Cluster &cluster;
  const LaunchRaces &launch;
  const ThreadClocks &clocks;
  const OperationOrder &operations;
};

} // namespace tlc::emulator
