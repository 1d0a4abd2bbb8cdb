// SPDX-License-Identifier: Apache-2.0
/// \file
/// One role loads ahead of another one that computes, and stores unless a third one does.
#include "compiler/strategies/LoadRole.h"
#include "compiler/strategies/StoreRole.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// A thread that loads shares a warpgroup with a role that stores, or with roles of the author's.
SmallVector<RoleKind> rolesOf(Candidate candidate, const CopyGroups &ahead) {
  const RoleKind math = {"math", int64_t(candidate.kernel.getWarps()), nullptr};
  constexpr int64_t half = warpsPerLoadRole / 2;
  if (std::optional<RoleKind> store = storeRole(candidate, ahead, half))
    return {loadRole(ahead, half), *store, math};
  const int64_t written = candidate.writtenWarps % warpsPerWarpgroup;
  return {loadRole(ahead, needsThreads(candidate, ahead) ? warpsPerLoadRole : warpsPerLoadRole - written),
          math};
}

} // namespace

const Strategy tile::loadMath = {"load-math",          /*hasSeveralRoles=*/true, /*needsLoads=*/true,
                                 findLoadRoleObstacle, /*runsAhead=*/nullptr,    rolesOf,
                                 explainLeftLoads};
