// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatorDevice.h"
#include "test/unit/library/AttentionCall.h"

/// The emulator, its checker on.
std::unique_ptr<tlc::Device> tlc::test::openDevice() { return createEmulatorDevice({.multiprocessors = 3}); }
