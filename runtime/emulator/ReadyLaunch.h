// SPDX-License-Identifier: Apache-2.0
/// \file
/// A launch of an emulated device whose arguments are checked.
#pragma once

#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatedProgram.h"
#include "runtime/emulator/LaunchTensors.h"

#include <memory>
#include <vector>

namespace tlc {

/// Launches that are queued or captured keep theirs when an address changes.
struct ReadyLaunch {
  /// The arguments fit `plan`, which was made of them.
  static Result<std::shared_ptr<const ReadyLaunch>> create(const EmulatedProgram &program, LaunchPlan plan,
                                                           LaunchArguments arguments);

  const EmulatedProgram &program;
  LaunchPlan plan;
  LaunchArguments arguments;
  std::vector<emulator::NamedTensor> tensors;
  std::vector<emulator::MulticastRange> multicast;
};

} // namespace tlc
