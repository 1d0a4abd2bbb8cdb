// SPDX-License-Identifier: Apache-2.0
/// \file
/// The role that loads ahead: what keeps a kernel from it, and which operations it executes.
#pragma once

#include "compiler/strategies/Strategy.h"
#include "runtime/target/Hardware.h"

namespace tlc::tile {

constexpr int64_t warpsPerLoadRole = warpsPerWarpgroup; ///< setmaxnreg moves registers of whole warpgroups

/// The first obstacle, or nothing. The role runs ahead of wgmma in pipelined loops.
std::optional<Obstacle> findLoadRoleObstacle(Candidate candidate);

/// A product by wgmma that takes more registers than a thread has beside `others` warps of other roles, if
/// there is one.
std::optional<Obstacle> findRegisterObstacle(Candidate candidate, int64_t others, llvm::StringRef beside);

/// The role that loads: it executes the copies that can run ahead, and takes the tiles that they load.
RoleKind loadRole(const CopyGroups &ahead, int64_t warps);

/// Whether threads make some of the loads, and not the TMA all of them.
bool needsThreads(Candidate candidate, const CopyGroups &ahead);

/// Writes to the copies that it leaves why (`tile.without_role`): their instructions are yet to be chosen.
void explainLeftLoads(Candidate candidate, const CopyGroups &ahead);

} // namespace tlc::tile
