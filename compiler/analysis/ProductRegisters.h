// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether threads have the registers that a product by wgmma takes: ptxas refuses a kernel that lacks them.
#pragma once

#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"

#include <string>

namespace tlc::tile {

/// What of a launch decides how many registers a thread has.
struct BlockSize {
  int64_t warps = 0, residents = 1;
};

/// Which registers a thread of a role has that sets none.
enum class RoleRegistersPhase {
  open,    ///< those that it may still get from other roles
  assigned ///< those of the launch
};

/// Why threads have too few registers for the `tile.gemm` or `tile.gemm_async` as wgmma of so many warps;
/// empty if they have enough.
std::string registerProblem(mlir::Operation *product, tlc::WarpPolicy policy, int64_t warps, BlockSize block,
                            const Target &target, RoleRegistersPhase phase = RoleRegistersPhase::open);

} // namespace tlc::tile
