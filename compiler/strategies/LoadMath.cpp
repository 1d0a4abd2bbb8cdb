// SPDX-License-Identifier: Apache-2.0
/// \file
/// One role loads ahead of another one that computes and stores.
#include "compiler/strategies/LoadRole.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// A thread that loads shares a warpgroup with roles of the author's.
SmallVector<RoleKind> rolesOf(Candidate candidate, const CopyGroups &ahead) {
  const int64_t written = candidate.writtenWarps % warpsPerWarpgroup;
  return {loadRole(ahead, needsThreads(candidate, ahead) ? warpsPerLoadRole : warpsPerLoadRole - written),
          {"math", int64_t(candidate.kernel.getWarps()), nullptr}};
}

} // namespace

const Strategy tile::loadMath = {"load-math",          /*hasSeveralRoles=*/true, /*needsLoads=*/true,
                                 findLoadRoleObstacle, /*runsAhead=*/nullptr,    rolesOf,
                                 explainLeftLoads};
