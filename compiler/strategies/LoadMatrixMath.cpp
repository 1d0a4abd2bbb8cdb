// SPDX-License-Identifier: Apache-2.0
/// \file
/// One thread loads ahead, another one starts the products that add in tensor memory (tcgen05), and
/// warpgroups load the sums from there and compute: one role of them, or two if there are two groups of sums
/// that are independent of each other, so that one computes while the other waits for products.
#include "compiler/analysis/IndependentSums.h"
#include "compiler/analysis/TileFills.h"
#include "compiler/strategies/LoadRole.h"
#include "compiler/strategies/StoreRole.h"

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
/// some of the loads: then none stores.
SmallVector<RoleKind> rolesOf(Candidate candidate, const CopyGroups &ahead) {
  RoleKind matrix = {"matrix", warpsPerWarpgroup, [](Operation *op) { return isa<GemmInPlaceOp>(op); }};
  const auto mathWarps = int64_t(candidate.kernel.getWarps());
  SmallVector<RoleKind> roles;
  if (!ahead.groups.empty()) {
    bool byThreads = needsThreads(candidate, ahead);
    int64_t warps = byThreads ? warpsPerLoadRole : warpsPerLoadRole / 2;
    matrix.warps = byThreads ? warpsPerWarpgroup : warpsPerWarpgroup - warps;
    std::optional<RoleKind> store = storeRole(candidate, ahead, warps / 2);
    roles.push_back(loadRole(ahead, store ? warps / 2 : warps));
    if (store)
      roles.push_back(*store);
  }
  roles.push_back(matrix);
  auto sums = std::make_shared<IndependentSums>(candidate.kernel);
  if (rolesOfSums(*sums) == 1) {
    roles.push_back({"math", mathWarps, nullptr});
  } else {
    roles.push_back({"math.1", mathWarps, [sums](Operation *op) { return sums->of(op) == 0; }});
    roles.push_back({"math.2", mathWarps, nullptr});
  }
  return roles;
}

} // namespace

const Strategy tile::loadMatrixMath = {"load-matrix-math", /*hasSeveralRoles=*/true, /*needsLoads=*/false,
                                       findObstacle,       /*runsAhead=*/nullptr,    rolesOf,
                                       explainLeftLoads};
