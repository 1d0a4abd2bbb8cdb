// SPDX-License-Identifier: Apache-2.0
/// \file
/// The device that programs are tested on where there is a GPU of sm_90, which compiles PTX of earlier
/// targets, too; what later targets have runs on the emulator.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"
#include "test/Expect.h"
#include "test/programs/ProgramRun.h"

using namespace tlc;

std::unique_ptr<Device> test::openDevice(const std::string &target, int multiprocessors,
                                         std::function<void(std::string_view)> print) {
  if (findTarget(target)->runsOn(9, 0))
    return expectValue(createCudaDevice(0, {.print = std::move(print)}));
  return createEmulatorDevice(
      {.target = findTarget(target), .multiprocessors = multiprocessors, .print = std::move(print)});
}
