// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether launches on the emulator are checked for races.
#pragma once

#include <cstdint>

namespace tlc {

enum class RaceCheck : uint8_t {
  off,
  on,     ///< a launch fails by findings that are errors, even where the order happened to be the wanted one
  strict, ///< also by warnings (`FindingLevel`)
};

} // namespace tlc
