// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values are followed to what makes them.
#include "compiler/analysis/ClusterUniformity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

using namespace mlir;

bool ClusterUniformity::isUniform(Value value) {
  auto [known, isNew] = answers.try_emplace(value, false);
  if (!isNew || depth == maxDepth)
    return known->second;
  ++depth;
  bool answer = decide(value);
  --depth;
  return answers[value] = answer;
}

bool ClusterUniformity::decide(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(owner);
    if (!loop)
      return isa<KernelOp>(owner);
    return argument == loop.getInductionVar() && isUniform(loop.getLowerBound()) && isUniform(loop.getStep());
  }
  Operation *op = value.getDefiningOp();
  if (isa<GridOp>(op))
    return cast<OpResult>(value).getResultNumber() > 0; // clusters lie along the first axis
  if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    if (auto size = op->getOperand(1).getDefiningOp<arith::ConstantIndexOp>();
        size && size.value() == cluster && op->getOperand(0).getDefiningOp<GridOp>())
      return true; // the cluster's number
  if (isa<BlockRankOp>(op) || op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  return areUniform(op->getOperands());
}

} // namespace tlc::tile
