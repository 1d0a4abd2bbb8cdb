// SPDX-License-Identifier: Apache-2.0
/// \file
/// What libFuzzer calls.
#include "test/fuzz/LoadAndRun.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static_cast<void>(tlc::emulator::fuzz::loadAndRun({reinterpret_cast<const char *>(data), size}));
  return 0;
}
