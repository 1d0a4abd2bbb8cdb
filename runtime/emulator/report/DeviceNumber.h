// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers of what runs at the same time: devices, and their copy engines.
#pragma once

#include <fmt/format.h>
#include <string>

namespace tlc::emulator {

/// That of the copy engines of device 0; those of the others follow.
inline constexpr int firstCopyEngine = 64;

inline std::string nameOfDevice(int number) {
  return number < firstCopyEngine ? fmt::format("device {}", number)
                                  : fmt::format("copy engine of device {}", number - firstCopyEngine);
}

} // namespace tlc::emulator
