// SPDX-License-Identifier: Apache-2.0
/// \file
/// Both values are followed back to what the loop carries and to what is the same in all iterations.
#include "compiler/analysis/CarriedEquality.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tlc::tile {

using namespace mlir;

bool CarriedEquality::isEqual(Value next, Value value) {
  if (loop.isDefinedOutsideOfLoop(next))
    return next == value;
  if (auto argument = dyn_cast<BlockArgument>(next))
    return argument.getOwner() == loop.getBody() && argument != loop.getInductionVar() &&
           loop.getYieldedValues()[argument.getArgNumber() - 1] == value;
  auto [entry, isNew] = known.try_emplace({next, value}, false);
  if (!isNew)
    return entry->second;
  Operation *op = value.getDefiningOp();
  bool result = op && cast<OpResult>(next).getResultNumber() == cast<OpResult>(value).getResultNumber() &&
                computesEqual(next.getDefiningOp(), op);
  return known[{next, value}] = result;
}

bool CarriedEquality::computesEqual(Operation *next, Operation *op) {
  if (next->getBlock() != loop.getBody() || next->getNumRegions() || !isMemoryEffectFree(next))
    return false;
  return OperationEquivalence::isEquivalentTo(
      next, op, [&](Value ofNext, Value ofOp) { return success(isEqual(ofNext, ofOp)); },
      /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

} // namespace tlc::tile
