// SPDX-License-Identifier: Apache-2.0
/// \file
/// A set that grows until nothing is added: loops feed values back.

#include "compiler/analysis/ComputedValues.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tlc::tile {

using namespace mlir;

/// Whether the operation computes fragments or reads memory.
static bool computes(Operation *op) {
  // Allocations and the grid stay outside of roles, so that all have them.
  bool isOutside = isa<AllocationOpInterface>(op) || op->hasTrait<OfLaunch>();
  return (!isMemoryEffectFree(op) && !isOutside) ||
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

ComputedValues::ComputedValues(KernelOp kernel, const llvm::SmallPtrSetImpl<Operation *> &others)
    : ComputedValues(kernel, [&](Operation *op) { return computes(op) && !others.contains(op); }) {}

ComputedValues::ComputedValues(KernelOp kernel, function_ref<bool(Operation *)> isSource) {
  bool grown = true;
  while (grown) {
    grown = false;
    kernel.walk([&](Operation *op) { grown |= add(op, isSource(op)); });
  }
}

/// Adds what follows for the operation's own values; true if that is anything new.
bool ComputedValues::add(Operation *op, bool isSource) {
  bool grown = false;
  auto isComputed = [&](Value value) { return computed.contains(value); };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    bool bounds =
        isComputed(loop.getLowerBound()) || isComputed(loop.getUpperBound()) || isComputed(loop.getStep());
    if (bounds)
      grown |= add(loop.getInductionVar());
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      if (!bounds && !isComputed(loop.getInitArgs()[i]) && !isComputed(loop.getYieldedValues()[i]))
        continue;
      grown |= add(argument);
      grown |= add(loop.getResult(i));
    }
    return grown;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (OpResult result : branch.getResults()) {
      unsigned i = result.getResultNumber();
      if (isComputed(branch.getCondition()) || isComputed(branch.thenYield().getOperand(i)) ||
          isComputed(branch.elseYield().getOperand(i)))
        grown |= add(result);
    }
    return grown;
  }
  if (isSource || llvm::any_of(op->getOperands(), isComputed))
    for (Value result : op->getResults())
      grown |= add(result);
  return grown;
}

} // namespace tlc::tile
