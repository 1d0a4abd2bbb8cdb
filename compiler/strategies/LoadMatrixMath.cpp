// SPDX-License-Identifier: Apache-2.0
/// \file
/// One thread loads ahead, another one starts the products that add in tensor memory (tcgen05), and
/// warpgroups load the sums from there and compute.
#include "compiler/analysis/TileFills.h"
#include "compiler/strategies/LoadRole.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

std::optional<Obstacle> findObstacle(Candidate candidate) {
  bool any = candidate.kernel.walk([](GemmInPlaceOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (!any)
    return Obstacle{candidate.kernel, "no product adds in tensor memory"};
  if (synchronisesByHand(candidate.kernel))
    return Obstacle{candidate.kernel, "it synchronises by hand"};
  return std::nullopt;
}

/// The roles that move tiles and start products are a thread each, and share a warpgroup, unless threads make
/// some of the loads.
SmallVector<RoleKind> rolesOf(Candidate candidate, const CopyGroups &ahead) {
  RoleKind matrix = {"matrix", warpsPerWarpgroup, [](Operation *op) { return isa<GemmInPlaceOp>(op); }};
  RoleKind math = {"math", int64_t(candidate.kernel.getWarps()), nullptr};
  if (ahead.groups.empty())
    return {matrix, math};
  bool byThreads = needsThreads(candidate, ahead);
  int64_t warps = byThreads ? warpsPerLoadRole : warpsPerLoadRole / 2;
  matrix.warps = byThreads ? warpsPerWarpgroup : warpsPerWarpgroup - warps;
  return {loadRole(ahead, warps), matrix, math};
}

} // namespace

const Strategy tile::loadMatrixMath = {"load-matrix-math", /*hasSeveralRoles=*/true, /*needsLoads=*/false,
                                       findObstacle,       /*runsAhead=*/nullptr,    rolesOf,
                                       explainLeftLoads};
