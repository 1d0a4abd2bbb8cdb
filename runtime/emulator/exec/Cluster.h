// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs one cluster on one host thread, turn by turn of its schedule.
#pragma once

#include "runtime/emulator/exec/State.h"

#include <memory>

namespace tlc::emulator {

/// The `index`-th cluster of the grid, at its first instruction.
std::unique_ptr<Cluster> createCluster(Grid &grid, uint32_t index);

enum class ClusterOutcome : uint8_t {
  done,
  yielded, ///< ran for a while; it may be waiting for another cluster
  failed,  ///< a finding says why
};
ClusterOutcome runCluster(Cluster &cluster);

/// Each waiting group: who, where, for what, and what that lacks.
Finding deadlockReport(Cluster &cluster);

} // namespace tlc::emulator
