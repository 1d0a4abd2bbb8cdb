// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensors of a launch, as findings call them.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/emulator/exec/core/Memory.h"
#include "runtime/emulator/report/NamedTensor.h"

#include <deque>
#include <span>
#include <vector>

namespace tlc::emulator {

/// The tensors of a launch; symmetric ones as the language calls them, X.of(2).
std::vector<NamedTensor> namedTensors(const Artifact &artifact, const LaunchArguments &arguments);

/// The same by the addresses that kernels get (`tensorAddress`).
std::vector<TensorView> tensorsInKernels(const LaunchArguments &arguments);
/// What is at these addresses: of inputs and outputs their elements, of workspaces whole rows.
class TensorRanges {
public:
  TensorRanges(const Artifact &artifact, const LaunchArguments &arguments,
               std::span<const NamedTensor> tensors, const MemoryMap &memory);
  std::span<const MemoryRange> all() const { return ranges; }

private:
  std::deque<ElementRuns> runs; ///< that `ranges` point to
  std::vector<MemoryRange> ranges;
};

/// Adds the tensors whose addresses an input holds, as the language calls them: X.of(2). To the artifact a
/// table of addresses is an input like others, and what it holds tells. Only the program knows the extents: a
/// member reaches to the next one, or to the end of its allocation.
void nameMembers(std::vector<NamedTensor> &tensors, const Artifact &artifact, const MemoryMap &memory);

/// Symmetric tensors by the addresses with which multimem instructions reach them on all ranks.
void giveMulticastAddresses(LaunchArguments &arguments);
/// The memory at these addresses.
std::vector<MulticastRange> multicastRanges(const LaunchArguments &arguments);

} // namespace tlc::emulator
