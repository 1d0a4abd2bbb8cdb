// SPDX-License-Identifier: Apache-2.0
/// \file
/// By induction over the arithmetic that makes positions.
#include "compiler/analysis/Signs.h"

#include "dialects/tile/Tile.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
constexpr int maxDepth = 32;

class Signs {
public:
  bool isNonNegative(Value value, int depth = 0) {
    if (APInt constant; matchPattern(value, m_ConstantInt(&constant)))
      return !constant.isNegative();
    if (depth == maxDepth)
      return false;
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? ofArgument(argument, depth + 1) : ofResult(cast<OpResult>(value), depth + 1);
  }

private:
  bool ofArgument(BlockArgument argument, int depth) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto kernel = dyn_cast<KernelOp>(parent))
      return isa_and_present<program::DimensionAttr>(kernel.getArgument(argument.getArgNumber()));
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      return isa<PersistentOp>(parent);
    if (argument == loop.getInductionVar())
      return isNonNegative(loop.getLowerBound(), depth);
    // What the loop makes of it follows from what it is at the start.
    if (!carried.insert(argument).second)
      return true;
    bool holds = isNonNegative(loop.getTiedLoopInit(argument)->get(), depth) &&
                 isNonNegative(loop.getTiedLoopYieldedValue(argument)->get(), depth);
    carried.erase(argument);
    return holds;
  }

  bool ofResult(OpResult result, int depth) {
    Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    auto operand = [&](unsigned i) { return isNonNegative(op->getOperand(i), depth); };
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return isNonNegative(loop.getRegionIterArg(number), depth);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return isNonNegative(branch.thenYield().getOperand(number), depth) &&
             isNonNegative(branch.elseYield().getOperand(number), depth);
    if (isa<GridOp, BlocksOp, BlockRankOp, MultiprocessorsOp>(op))
      return true;
    if (isa<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp,
            arith::MinSIOp>(op))
      return operand(0) && operand(1);
    // A quotient of numbers without a sign is no more than what is divided.
    if (isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp, arith::RemSIOp, arith::IndexCastOp,
            arith::IndexCastUIOp, arith::ExtSIOp>(op))
      return operand(0);
    if (isa<arith::MinUIOp, arith::MaxSIOp>(op))
      return operand(0) || operand(1);
    return isa<arith::SelectOp>(op) && operand(1) && operand(2);
  }

  llvm::SmallDenseSet<Value> carried; ///< what is being looked at
};
} // namespace

bool tile::isNonNegative(Value position) { return Signs().isNonNegative(position); }
