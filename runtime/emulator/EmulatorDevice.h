// SPDX-License-Identifier: Apache-2.0
/// \file
/// The device that executes PTX on the CPU. Its memory is host memory; its
/// launches run to completion and return what went wrong.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/emulator/check/RaceCheck.h"

#include <cstdint>
#include <memory>

namespace tlc {

struct EmulatorOptions {
  int multiprocessors = 132;                 ///< as an H200 has; persistent grids have that many blocks
  unsigned hostThreads = 0;                  ///< 0: all cores
  uint64_t maximumSteps = uint64_t(1) << 32; ///< instructions of one warp before the launch fails
  RaceCheck raceCheck = RaceCheck::on;       ///< of shared memory
};

std::unique_ptr<Device> createEmulatorDevice(EmulatorOptions options = {});

} // namespace tlc
