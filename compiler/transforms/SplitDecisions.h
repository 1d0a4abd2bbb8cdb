// SPDX-License-Identifier: Apache-2.0
/// \file
/// Branches on which each warp decides by itself, in kernels of several roles.
#pragma once

#include "compiler/analysis/Obstacle.h"
#include "dialects/tile/Tile.h"

#include <optional>

namespace tlc::tile {

/// Each operation that one role executes says which (`tile.role`). What keeps a branch by `tile.any_in_warp`
/// from becoming one of each role, or nothing.
std::optional<Obstacle> findDecisionObstacle(KernelOp kernel, llvm::StringRef fallback);

/// Afterwards what comes out of such a branch is one role's. Where it computed for several, the one that has
/// the condition decides, and what another role computes it takes for those elements alone for which the warp
/// that holds the condition took the branch. `fallback` has the fragments of which no operation says whose
/// they are.
void splitDecisions(KernelOp kernel, llvm::StringRef fallback);

} // namespace tlc::tile
