// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prepared launches of an emulated device.
#pragma once

#include "runtime/emulator/EmulatorCapture.h"
#include "runtime/emulator/ReadyLaunch.h"

#include <memory>

namespace tlc {

/// What a prepared launch asks of its device.
class LaunchingDevice {
public:
  /// Checks the arguments.
  virtual Result<std::shared_ptr<const ReadyLaunch>> makeReady(const LoadedProgram &program,
                                                               LaunchArguments arguments) const = 0;
  virtual Result<void> enqueue(const std::shared_ptr<const ReadyLaunch> &launch, Stream stream) = 0;
  /// The capture that the stream belongs to, or null.
  virtual std::shared_ptr<EmulatorCapture> captureOf(Stream stream) = 0;

protected:
  ~LaunchingDevice() = default;
};

/// The device outlives the launch.
std::unique_ptr<PreparedLaunch> createEmulatorLaunch(LaunchingDevice &device,
                                                     std::shared_ptr<const ReadyLaunch> ready);

} // namespace tlc
