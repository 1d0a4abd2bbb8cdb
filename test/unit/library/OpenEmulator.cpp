// SPDX-License-Identifier: Apache-2.0
/// \file
/// The device that calls of attention are tested on: the emulator, its checker on.
#include "runtime/emulator/EmulatorDevice.h"
#include "test/unit/library/AttentionCall.h"

std::unique_ptr<tlc::Device> tlc::test::openDevice(std::optional<int> multiprocessors) {
  return createEmulatorDevice({.multiprocessors = multiprocessors.value_or(3)});
}
