// SPDX-License-Identifier: Apache-2.0
/// \file
/// A look a few operations back.

#include "compiler/analysis/CheapFragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// Masks are the longest of these: a coordinate, an offset, a comparison or two, their combination.
constexpr int maxDepth = 4;

bool isCheap(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (makesFragment(op))
    return true;
  // A choice by one truth value may be a warp's own.
  auto select = dyn_cast<arith::SelectOp>(op);
  bool isChoice = select && !isa<RankedTensorType>(select.getCondition().getType());
  bool repeatable = (op->hasTrait<OpTrait::Elementwise>() && !isChoice) || isa<BroadcastOp>(op);
  return repeatable && depth < maxDepth && op->getNumResults() == 1 && isMemoryEffectFree(op) &&
         llvm::all_of(
             op->getOperands(),
             [&](Value operand) {
               return !isa<RankedTensorType>(operand.getType()) || isCheap(operand, depth + 1);
             });
}

} // namespace

bool makesFragment(Operation *op) {
  return isa<SplatOp, CoordinatesOp, arith::ConstantOp>(op) &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

bool isCheapFragment(Value value) { return isCheap(value, 0); }

} // namespace tlc::tile
