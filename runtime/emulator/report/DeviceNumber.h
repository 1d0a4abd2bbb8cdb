// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers of what runs at the same time: devices, and their copy engines.
#pragma once

#include <fmt/format.h>
#include <string>

namespace tlc::emulator {

/// Numbers of devices are smaller.
inline constexpr int firstCopyEngine = 64;

/// That of a copy engine of the device: there is one for each of the first rounds that launches run beside.
inline int copyEngineOf(int device, size_t round) {
  constexpr size_t mostEngines = 128;
  return firstCopyEngine * int(1 + round % mostEngines) + device;
}

inline bool isCopyEngine(int number) { return number >= firstCopyEngine; }

inline std::string nameOfDevice(int number) {
  return fmt::format("{}device {}", isCopyEngine(number) ? "copy engine of " : "", number % firstCopyEngine);
}

} // namespace tlc::emulator
