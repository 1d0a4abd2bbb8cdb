// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs one cluster on one host thread, turn by turn of its schedule.
#pragma once

#include "runtime/emulator/exec/core/State.h"

#include <memory>

namespace tlc::emulator {

/// The `index`-th cluster of the grid, at its first instruction. It takes over the memory of `ended`, another
/// cluster of the grid or null: freed memory may go back to the host, which clears each page given out again.
std::unique_ptr<Cluster> createCluster(Grid &grid, uint32_t index, std::unique_ptr<Cluster> ended);

enum class ClusterOutcome : uint8_t {
  done,
  yielded, ///< ran for a while; it may be waiting for another cluster
  failed,  ///< a finding says why
};
ClusterOutcome runCluster(Cluster &cluster);

/// Lets waits that have a time limit give up; false if they have done so since
/// anything changed last.
bool expireWaits(Cluster &cluster);

/// Each waiting group: who, where, for what, and what that lacks. `notStarted`
/// clusters of the grid have found no room yet.
Finding deadlockReport(Cluster &cluster, uint32_t notStarted = 0);

} // namespace tlc::emulator
