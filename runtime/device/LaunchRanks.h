// SPDX-License-Identifier: Apache-2.0
/// \file
/// One program on several devices of this process at once, the ranks, which reach each other's memory.
#pragma once

#include "runtime/device/Device.h"

#include <span>
#include <vector>

namespace tlc {

/// Lets kernels of each of the devices access the memory of all others.
Result<void> connect(std::span<Device *const> devices);

/// The launch of one rank: the program as its device has loaded it, and its arguments.
struct RankLaunch {
  Device *device = nullptr;
  const LoadedProgram *program = nullptr;
  const LaunchArguments *arguments = nullptr;
  Stream stream = {};
};

/// Enqueues the program on all ranks, of which number i is `launches[i]`. Checks all arguments, and that
/// ranks agree about the program and symmetric tensors, before the first launch: errors name the rank. The
/// streams wait for each other, so that no rank still uses symmetric workspaces, clear those that begin as
/// zeros, and wait for each other again; then the launches run at once, after all that was enqueued before on
/// any of the streams. The host waits for emulated devices alone. Results are there when each device has
/// synchronised.
Result<void> launchRanks(std::span<const RankLaunch> launches);

/// Enqueues zeros for symmetric workspaces that begin as zeros.
Result<void> clearSymmetricWorkspaces(const RankLaunch &launch);

/// What ranks must agree about of a program beside its PTX: its transfers, or nothing if it has none.
std::vector<std::byte> bytesOfTransfers(const Artifact &artifact);

/// Whether there can be so many ranks, and one of that number.
Result<void> checkRank(int64_t rank, int64_t ranks);

/// The error with the rank before it.
Error ofRank(size_t rank, const Error &error);

} // namespace tlc
