// SPDX-License-Identifier: Apache-2.0
/// \file
/// One thread has the TMA load ahead of warps that compute without asynchronous products. It is for memory:
/// what the TMA brings takes none of the threads' instructions and registers. A kernel asks for it.
#include "compiler/analysis/TmaAccess.h"
#include "compiler/strategies/LoadRole.h"
#include "compiler/strategies/StoreRole.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

constexpr int64_t warpsThatIssue = 1;

bool isAskedFor(KernelOp kernel) { return kernel.getLoadRole(); }

std::string tmaProblem(CopyOp copy, Candidate candidate) {
  return candidate.tma ? loadProblem(copy, candidate.target) : "the TMA is switched off";
}

std::optional<Obstacle> findObstacle(Candidate candidate) {
  std::optional<Obstacle> obstacle;
  bool isPipelined = false, loads = false;
  candidate.kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (obstacle)
      return WalkResult::interrupt();
    if (auto product = dyn_cast<ProductOpInterface>(op);
        product && (isa<GemmInPlaceOp>(op) || product.getAtom() == MatrixAtom::wgmma))
      obstacle = Obstacle{op, "its products are asynchronous, and other roles load ahead of these"};
    auto loop = dyn_cast<scf::ForOp>(op);
    isPipelined |= loop && loop->hasAttr(TileDialect::pipelineAttrName);
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy || !isLoad(copy) || !copy->getParentOp()->hasAttr(TileDialect::pipelineAttrName))
      return WalkResult::advance();
    loads = true;
    if (std::string problem = tmaProblem(copy, candidate); !problem.empty())
      obstacle = Obstacle{copy, "one thread loads ahead only what the TMA can, and " + problem};
    return WalkResult::advance();
  });
  if (obstacle)
    return obstacle;
  if (!isPipelined)
    return Obstacle{candidate.kernel,
                    "no loop of the kernel is pipelined, and a role loads ahead only in pipelined loops"};
  if (!loads)
    return Obstacle{candidate.kernel, "no copy of a pipelined loop fills a shared tile from a tensor"};
  return std::nullopt;
}

/// Others, outside of pipelined loops, are made by the threads that use the tile.
bool runsAhead(CopyOp copy, Candidate candidate) { return tmaProblem(copy, candidate).empty(); }

SmallVector<RoleKind> rolesOf(Candidate candidate, const CopyGroups &ahead) {
  SmallVector<RoleKind> roles = {loadRole(ahead, warpsThatIssue)};
  if (std::optional<RoleKind> store = storeRole(candidate, ahead, warpsThatIssue))
    roles.push_back(*store);
  roles.push_back({"math", int64_t(candidate.kernel.getWarps()), nullptr});
  return roles;
}

} // namespace

const Strategy tile::loadCompute = {
    "load-compute", /*hasSeveralRoles=*/true, /*needsLoads=*/true, findObstacle, runsAhead,
    rolesOf,        explainLeftLoads,         isAskedFor};
