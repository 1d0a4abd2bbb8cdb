// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether launches on the emulator are checked for races.
#pragma once

#include <cstdint>

namespace tlc {

/// `on` makes a launch fail at the first two accesses to shared memory that
/// nothing orders, even where their order happened to be the wanted one.
enum class RaceCheck : uint8_t { off, on };

} // namespace tlc
