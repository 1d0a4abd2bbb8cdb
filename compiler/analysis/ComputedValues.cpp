// SPDX-License-Identifier: Apache-2.0
/// \file
/// A set that grows until nothing is added: loops feed values back.

#include "compiler/analysis/ComputedValues.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tlc::tile {

using namespace mlir;

ComputedValues::ComputedValues(KernelOp kernel) {
  bool grown = true;
  while (grown) {
    grown = false;
    kernel.walk([&](Operation *op) { grown |= add(op); });
  }
}

/// Adds what follows for the operation's own values; true if that is anything new.
bool ComputedValues::add(Operation *op) {
  bool grown = false;
  auto isComputed = [&](Value value) { return computed.contains(value); };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    bool bounds =
        isComputed(loop.getLowerBound()) || isComputed(loop.getUpperBound()) || isComputed(loop.getStep());
    if (bounds)
      grown |= add(loop.getInductionVar());
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      bool fragment = isa<RankedTensorType>(argument.getType());
      if (!fragment && !bounds && !isComputed(loop.getInitArgs()[i]) &&
          !isComputed(loop.getYieldedValues()[i]))
        continue;
      grown |= add(argument);
      grown |= add(loop.getResult(i));
    }
    return grown;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (OpResult result : branch.getResults()) {
      unsigned i = result.getResultNumber();
      if (isa<RankedTensorType>(result.getType()) || isComputed(branch.getCondition()) ||
          isComputed(branch.thenYield().getOperand(i)) || isComputed(branch.elseYield().getOperand(i)))
        grown |= add(result);
    }
    return grown;
  }
  // Allocations and the grid stay outside of roles, so that all have them.
  bool isOutside = isa<AllocationOpInterface>(op) || op->hasTrait<OfLaunch>();
  bool fromMemory = !isMemoryEffectFree(op) && !isOutside;
  for (Value result : op->getResults())
    if (fromMemory || isa<RankedTensorType>(result.getType()) || llvm::any_of(op->getOperands(), isComputed))
      grown |= add(result);
  return grown;
}

} // namespace tlc::tile
