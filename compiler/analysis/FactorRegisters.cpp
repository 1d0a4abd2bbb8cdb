// SPDX-License-Identifier: Apache-2.0
/// \file
/// A walk back through loops, branches and operations that only name registers anew.

#include "compiler/analysis/FactorRegisters.h"

#include "compiler/analysis/CheapFragments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// Whether the result may lie in the registers of the operand.
bool passesOn(Operation *op) {
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    return !convert.getScratch();
  return isa<BroadcastOp, arith::BitcastOp>(op);
}

class Collector {
public:
  FactorWriters writers;

  void add(Value value, bool isMoved) {
    if (!visited.insert(value).second)
      return;
    if (isCheapFragment(value)) {
      writers.madeForUse = true;
      return;
    }
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      addCarried(cast<scf::ForOp>(argument.getOwner()->getParentOp()), argument.getArgNumber() - 1);
      return;
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return addCarried(loop, number);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      writers.moves.insert(branch);
      add(branch.thenYield()->getOperand(number), /*isMoved=*/true);
      add(branch.elseYield()->getOperand(number), /*isMoved=*/true);
      return;
    }
    (isMoved ? writers.sources : writers.ops).insert(op);
    if (passesOn(op))
      add(op->getOperand(0), isMoved);
  }

private:
  void addCarried(scf::ForOp loop, unsigned number) {
    writers.moves.insert(loop);
    add(loop.getInitArgs()[number], /*isMoved=*/true);
    add(loop.getYieldedValues()[number], /*isMoved=*/true);
  }

  llvm::SmallDenseSet<Value> visited;
};

} // namespace

FactorWriters writersOf(Value factor) {
  Collector collector;
  collector.add(factor, /*isMoved=*/false);
  return std::move(collector.writers);
}

} // namespace tlc::tile
