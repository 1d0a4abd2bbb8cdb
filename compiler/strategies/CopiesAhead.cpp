// SPDX-License-Identifier: Apache-2.0
/// \file
/// All warps are one role. The copies of its pipelined loops that cp.async can make run ahead of what reads
/// them.
#include "compiler/analysis/CpAsyncAccess.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/strategies/Strategy.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

std::optional<Obstacle> findObstacle(Candidate) { return std::nullopt; }

bool isInPipeline(CopyOp copy) { return copy->getParentOp()->hasAttr(TileDialect::pipelineAttrName); }

bool runsAhead(CopyOp copy, Candidate candidate) {
  return isInPipeline(copy) && cpAsyncProblem(copy, candidate.target).empty();
}

SmallVector<RoleKind> rolesOf(Candidate candidate, const CopyGroups &) {
  return {{"all", int64_t(candidate.kernel.getWarps()), nullptr}};
}

void explainOthers(Candidate candidate, const CopyGroups &ahead) {
  if (!candidate.target.cpAsync)
    return;
  candidate.kernel.walk([&](CopyOp copy) {
    if (!isLoad(copy) || !isInPipeline(copy))
      return;
    std::string problem = cpAsyncProblem(copy, candidate.target);
    for (const Obstacle &obstacle : ahead.obstacles)
      if (obstacle.culprit == copy)
        problem = obstacle.reason;
    if (!problem.empty())
      emitRemark(copy, RemarkId::copyNotAhead) << "copy does not run ahead of its loop: " << problem;
  });
}

} // namespace

const Strategy tile::copiesAhead = {
    "copies",     /*hasSeveralRoles=*/false, /*needsLoads=*/true, findObstacle, runsAhead, rolesOf,
    explainOthers};
