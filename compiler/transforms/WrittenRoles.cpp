// SPDX-License-Identifier: Apache-2.0
#include "compiler/transforms/WrittenRoles.h"

#include "compiler/analysis/Positions.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/analysis/TensorAccesses.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/RoleMarks.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

int64_t WrittenRoles::warps() const {
  int64_t warps = 0;
  for (PlannedRoleAttr role : roles)
    warps += role.getWarps();
  return warps;
}

namespace {

/// The end of a role in its block; null if there is none before another role begins.
EndRoleOp endOf(BeginRoleOp begin) {
  for (Operation *op = begin->getNextNode(); op && !isa<BeginRoleOp>(op); op = op->getNextNode())
    if (auto end = dyn_cast<EndRoleOp>(op))
      return end;
  return {};
}

} // namespace

FailureOr<WrittenRoles> tile::findWrittenRoles(KernelOp kernel) {
  WrittenRoles written;
  SmallVector<BeginRoleOp> marks;
  kernel.walk([&](BeginRoleOp begin) { marks.push_back(begin); });
  for (BeginRoleOp begin : marks) {
    EndRoleOp end = endOf(begin);
    if (!end)
      return begin.emitError("expected a 'tile.end_role' for role '")
             << begin.getName() << "' in its block, before another role begins";
    auto role = PlannedRoleAttr::get(kernel.getContext(), begin.getName(), int64_t(begin.getWarps()));
    auto sameName =
        llvm::find_if(written.roles, [&](PlannedRoleAttr each) { return each.getName() == role.getName(); });
    if (sameName == written.roles.end())
      written.roles.push_back(role);
    else if (*sameName != role)
      return begin.emitError("expected the same number of warps in all parts of role '")
             << begin.getName() << "'";
    for (Operation *op = begin->getNextNode(); op != end; op = op->getNextNode())
      op->walk([&](Operation *inner) {
        if (belongsToOneRole(inner))
          written.executors[inner] = role;
      });
  }
  return written;
}

FailureOr<WrittenRoles> tile::takeWrittenRoles(KernelOp kernel) {
  FailureOr<WrittenRoles> written = findWrittenRoles(kernel);
  SmallVector<Operation *> marks;
  kernel.walk([&](Operation *op) {
    if (isa<BeginRoleOp, EndRoleOp>(op))
      marks.push_back(op);
  });
  if (succeeded(written))
    for (Operation *mark : marks)
      mark->erase();
  return written;
}

/// What writes the tile that a copy loads, beside the copy; null if nothing does.
static Operation *otherWriter(KernelOp kernel, CopyOp load) {
  Operation *other = nullptr;
  kernel.walk([&](Operation *op) {
    for (const MemoryAccess &access : memoryAccessesOf(op))
      if (op != load && access.isShared() && access.kind != AccessKind::read &&
          declarationOf(access.memory) == declarationOf(load.getDestination()))
        other = op;
  });
  return other;
}

std::optional<Obstacle> tile::findSumObstacle(KernelOp kernel, const WrittenRoles &written, int64_t warps) {
  if (std::optional<Obstacle> order = findOrderObstacle(kernel, written))
    return order;
  std::optional<Obstacle> found;
  kernel.walk([&](Operation *op) { // in program order: the executors have none
    PlannedRoleAttr role = written.executors.lookup(op);
    if (found || !role)
      return;
    auto isFragment = llvm::IsaPred<RankedTensorType>;
    const bool hasFragment =
        llvm::any_of(op->getOperandTypes(), isFragment) || llvm::any_of(op->getResultTypes(), isFragment);
    auto isShared = [](const MemoryAccess &access) { return access.isShared(); };
    auto copy = dyn_cast<CopyOp>(op);
    const std::string whose = "role '" + role.getName().str() + "' ";
    if (hasFragment && role.getWarps() != warps)
      found = Obstacle{op, llvm::formatv("{0}has {1} warps, but {2} load sums from tensor memory", whose,
                                         role.getWarps(), warps)};
    else if (isa<ProductOpInterface>(op))
      found = Obstacle{op, whose + "multiplies"};
    else if (Operation *other = copy && isLoad(copy) ? otherWriter(kernel, copy) : nullptr)
      found = Obstacle{other, describe(copy.getDestination(), "a tile") + ", which " + whose +
                                  "loads, is written here, too"};
    else if (!(copy && isLoad(copy)) && llvm::any_of(memoryAccessesOf(op), isShared))
      found = Obstacle{op, whose + "uses a shared tile"};
  });
  return found;
}

std::optional<Obstacle> tile::findOrderObstacle(KernelOp kernel, const WrittenRoles &written) {
  if (written.roles.empty())
    return std::nullopt;
  Operation *orders = nullptr;
  const bool isCountedOnly = !takenPositions(kernel).empty();
  kernel.walk([&](Operation *op) {
    if (!orders &&
        (accessesOtherBlocks(op) || (!isCountedOnly && (letsBlocksGoOn(op) || goesOnAfterBlocks(op)))))
      orders = op;
  });
  if (orders)
    return Obstacle{orders, "the " + describeStatement(orders) +
                                " orders what its block does before and after it, and roles run beside it"};
  SmallVector<TensorAccess> accesses = tensorAccessesIn(kernel);
  for (const TensorAccess &access : accesses)
    for (const TensorAccess &other : accesses) {
      auto tensorOf = [](const TensorAccess &each) { return declarationOf(SliceOp(each.slice).getTensor()); };
      PlannedRoleAttr role = written.executors.lookup(access.op);
      if (role && role != written.executors.lookup(other.op) && tensorOf(access) == tensorOf(other) &&
          (access.kind != AccessKind::read || other.kind != AccessKind::read))
        return Obstacle{other.op, "it accesses " + describe(tensorOf(other), "a tensor") + ", as role '" +
                                      role.getName().str() +
                                      "' does, and no channel orders accesses to tensors"};
    }
  return std::nullopt;
}
