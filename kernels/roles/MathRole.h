// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles that compute in schedules written by hand. Their products have sums in flight in registers, which
/// wgmma has.
#pragma once

#include "runtime/target/Hardware.h"

namespace tlc::kernels {

/// Rows of a tile that one warpgroup of such a role computes: each warp's sums have those of an mma.sync.
inline constexpr int64_t rowsOfMathWarpgroup = warpsPerWarpgroup * mmaSyncRows;
/// Warps of such a role for a tile.
constexpr int64_t mathWarps(int64_t rows) { return rows / rowsOfMathWarpgroup * warpsPerWarpgroup; }

} // namespace tlc::kernels
