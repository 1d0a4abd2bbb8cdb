// SPDX-License-Identifier: Apache-2.0
/// \file
/// What roles that are written out do with rings.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// Errors, for kernels before automatic roles:
/// - a loop fills or releases the same slot in each iteration because its cursor is not advanced there;
/// - a loop fills more slots than the ring has, some role releases them, and no role acquires them.
mlir::LogicalResult verifyRingProtocol(KernelOp kernel);

} // namespace tlc::tile
