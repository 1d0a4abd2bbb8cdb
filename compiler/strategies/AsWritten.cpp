// SPDX-License-Identifier: Apache-2.0
/// \file
/// No role but those that an author writes, and one of all other operations.
#include "compiler/strategies/LoadRole.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

std::optional<Obstacle> findObstacle(Candidate candidate) {
  if (!candidate.target.mbarrier)
    return Obstacle{
        candidate.kernel,
        llvm::formatv("{0} has no mbarriers that count bytes, at which roles wait", candidate.target.name)};
  return findRegisterObstacle(candidate, candidate.writtenWarps, "its author's roles");
}

bool runsAhead(CopyOp, Candidate) { return false; }

SmallVector<RoleKind> rolesOf(Candidate candidate, const CopyGroups &) {
  return {{"math", int64_t(candidate.kernel.getWarps()), nullptr}};
}

void explainOthers(Candidate, const CopyGroups &) {}

} // namespace

const Strategy tile::asWritten = {
    "as-written", /*hasSeveralRoles=*/true, /*needsLoads=*/false, findObstacle, runsAhead, rolesOf,
    explainOthers};
