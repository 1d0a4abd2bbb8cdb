// SPDX-License-Identifier: Apache-2.0
/// \file
/// What may be chosen of the order in which blocks compute tiles (TileScheduler.h).
#pragma once

#include <cstdint>

namespace tlc::kernels {

/// What of the heads that make a group is to stay in L2.
enum class HeadGroups : uint8_t {
  loads, ///< what their tiles load; a group has a tile for each block at least
  sums, ///< and what they add to; if tiles are fixed, a group has 1.9 rounds of them at least, and the number
        ///< of groups is even
};

/// How tiles come to blocks.
enum class TileDealing : uint8_t {
  fixed, ///< each block knows its own from the start
  taken, ///< a block takes the next one when it is ready for it
};

} // namespace tlc::kernels
