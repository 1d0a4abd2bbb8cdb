// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program is launched with: numbers that follow from its seed, in poisoned memory.
#pragma once

#include "kernels/harness/HostTensor.h"
#include "test/differential/ProgramTree.h"

namespace tlc::differential {

/// Inputs, outputs and tensors that are both, in the order of the program's arguments. Workspaces are left
/// out. Those of each rank, one after the other.
Result<std::vector<kernels::HostTensor>> makeTensors(const ProgramTree &tree);

/// Whether the program reads what the tensor holds before the launch.
constexpr bool hasValues(Access access) { return access == Access::input || access == Access::inout; }

} // namespace tlc::differential
