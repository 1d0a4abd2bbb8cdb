// SPDX-License-Identifier: Apache-2.0
/// \file
/// A search from a fragment to the operation that computes it, through loops and branches.
#include "compiler/analysis/FragmentOwners.h"

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/RolePlan.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

StringRef FragmentOwners::of(Value fragment) const {
  if (Operation *op = fragment.getDefiningOp())
    if (StringRef role = plannedRoleOf(op); !role.empty())
      return role;
  llvm::SmallPtrSet<void *, 16> seen;
  StringRef owner = find(fragment, seen);
  return owner.empty() ? fallback : owner;
}

StringRef FragmentOwners::find(Value fragment, llvm::SmallPtrSetImpl<void *> &seen) const {
  if (!seen.insert(fragment.getAsOpaquePointer()).second)
    return {};
  auto firstOf = [&](Value last, Value first) {
    StringRef owner = find(last, seen);
    return owner.empty() ? find(first, seen) : owner;
  };
  auto ofLoop = [&](scf::ForOp loop, unsigned number) {
    return firstOf(loop.getYieldedValues()[number], loop.getInitArgs()[number]);
  };
  if (auto argument = dyn_cast<BlockArgument>(fragment)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop ? ofLoop(loop, argument.getArgNumber() - loop.getNumInductionVars()) : StringRef();
  }
  auto result = cast<OpResult>(fragment);
  Operation *op = result.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return ofLoop(loop, result.getResultNumber());
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return firstOf(branch.thenYield().getOperand(result.getResultNumber()),
                   branch.elseYield().getOperand(result.getResultNumber()));
  return makesFragment(op) ? StringRef() : plannedRoleOf(op);
}
