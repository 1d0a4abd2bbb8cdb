// SPDX-License-Identifier: Apache-2.0
/// \file
/// How warps share a product.
#pragma once

#include "runtime/support/Enum.h"

namespace tlc {

/// How the warps (of wgmma: the warpgroups) of a product divide its m x n result: as square as their number
/// and the shape allow; all along m, so that each holds whole rows, as row-wise reductions want; all along n.
#define TLC_WARP_POLICIES(X) X(square) X(fullRow) X(fullColumn)
TLC_ENUM(WarpPolicy, TLC_WARP_POLICIES)

} // namespace tlc
