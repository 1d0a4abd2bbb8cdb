// SPDX-License-Identifier: Apache-2.0
/// \file
/// The device that programs are tested on: the emulator, its checker on.
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"
#include "test/programs/ProgramRun.h"

std::unique_ptr<tlc::Device> tlc::test::openDevice(const std::string &target, int multiprocessors,
                                                   std::function<void(std::string_view)> print) {
  return createEmulatorDevice({.target = findTarget(target),
                               .multiprocessors = multiprocessors,
                               .raceCheck = RaceCheck::strict,
                               .print = std::move(print)});
}
