// SPDX-License-Identifier: Apache-2.0
/// \file
/// The device that executes PTX on the CPU. Its memory is host memory; its
/// launches run to completion and return what went wrong.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/emulator/check/Finding.h"
#include "runtime/emulator/check/RaceCheck.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace tlc {

struct Target;

struct EmulatorOptions {
  const Target *target = nullptr;            ///< the device to stand for; null: sm_90a
  int multiprocessors = 132;                 ///< as an H200 has; persistent grids have that many blocks
  unsigned hostThreads = 0;                  ///< 0: all cores
  uint64_t maximumSteps = uint64_t(1) << 32; ///< instructions of one warp before the launch fails
  RaceCheck raceCheck = RaceCheck::on;
  /// Another order of warps and completions than the usual one, the same for
  /// the same seed, on one host thread.
  std::optional<uint64_t> scheduleSeed = {};
  /// Called with what a launch found, by the thread that launches, before the
  /// launch returns the same as text.
  std::function<void(const Findings &)> onFindings = {};
};

std::unique_ptr<Device> createEmulatorDevice(EmulatorOptions options = {});

/// What a device's launches have executed since it was created.
struct EmulatorStatistics {
  uint64_t warpInstructions = 0;   ///< instructions that some lane of a warp executed
  uint64_t threadInstructions = 0; ///< the same, counted for each lane
};
/// Nothing for a device that is not emulated.
std::optional<EmulatorStatistics> emulatorStatisticsOf(const Device &device);

} // namespace tlc
