// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a loop whose first iterations differ from the others is two loops, neither of which asks: edge
/// tiles are masked in one, and the other has nothing between its products but what all tiles need. What is
/// for iterations that the loop does not have is gone.

#include "compiler/analysis/ClusterUniformity.h"
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {
#define GEN_PASS_DEF_SPLITLOOPS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// The bound of a condition `i < bound` on the loop's counter, or null.
Value boundOf(arith::CmpIOp compare, scf::ForOp loop) {
  Value less = compare.getLhs(), greater = compare.getRhs();
  if (compare.getPredicate() == arith::CmpIPredicate::sgt)
    std::swap(less, greater);
  else if (compare.getPredicate() != arith::CmpIPredicate::slt)
    return {};
  return less == loop.getInductionVar() && loop.isDefinedOutsideOfLoop(greater) ? greater : Value();
}

void replaceBy(ArrayRef<arith::CmpIOp> conditions, bool value) {
  for (arith::CmpIOp condition : conditions) {
    OpBuilder builder(condition);
    auto known = arith::ConstantOp::create(builder, condition.getLoc(), builder.getBoolAttr(value));
    condition.replaceAllUsesWith(known.getResult());
    condition.erase();
  }
}

/// Drops what is for the first iterations alone from a loop that begins after them.
void dropPassed(scf::ForOp loop) {
  std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound());
  if (!begin)
    return;
  SmallVector<arith::CmpIOp> passed;
  loop.getBody()->walk([&](arith::CmpIOp compare) {
    Value bound = boundOf(compare, loop);
    std::optional<int64_t> below = bound ? getConstantIntValue(bound) : std::nullopt;
    bool isEqual =
        compare.getPredicate() == arith::CmpIPredicate::eq && compare.getLhs() == loop.getInductionVar();
    std::optional<int64_t> only = isEqual ? getConstantIntValue(compare.getRhs()) : std::nullopt;
    if ((below && *below <= *begin) || (only && *only < *begin))
      passed.push_back(compare);
  });
  replaceBy(passed, false);
}

bool yieldsFragments(scf::IfOp branch) {
  return llvm::any_of(branch.getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// What the first branch between fragments compares the counter with, or null.
Value findBound(scf::ForOp loop) {
  for (auto branch : loop.getBody()->getOps<scf::IfOp>())
    if (auto condition = branch.getCondition().getDefiningOp<arith::CmpIOp>();
        condition && yieldsFragments(branch))
      if (Value bound = boundOf(condition, loop))
        return bound;
  return {};
}

void assume(scf::ForOp loop, Value bound, bool isBelow) {
  SmallVector<arith::CmpIOp> known;
  loop.getBody()->walk([&](arith::CmpIOp compare) {
    if (boundOf(compare, loop) == bound)
      known.push_back(compare);
  });
  replaceBy(known, isBelow);
}

void split(scf::ForOp loop, Value bound) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value middle = arith::MinSIOp::create(builder, loc, bound, loop.getUpperBound());
  middle = arith::MaxSIOp::create(builder, loc, middle, loop.getLowerBound());
  auto below = cast<scf::ForOp>(builder.clone(*loop));
  below.setUpperBound(middle);
  loop.setLowerBound(middle);
  loop.getInitArgsMutable().assign(below.getResults());
  assume(below, bound, true);
  assume(loop, bound, false);
}

/// Whether the blocks of a cluster meet in the loop, so that each part of it must be as long for all.
bool meetsCluster(scf::ForOp loop) {
  llvm::SmallDenseSet<Value, 4> ofCluster = buffersOfCluster(loop->getParentOfType<KernelOp>());
  auto isOfCluster = [&](const MemoryAccess &access) {
    return ofCluster.contains(declarationOf(access.memory));
  };
  return !ofCluster.empty() && loop.getBody()
                                   ->walk([&](Operation *op) {
                                     return llvm::any_of(memoryAccessesOf(op), isOfCluster)
                                                ? WalkResult::interrupt()
                                                : WalkResult::advance();
                                   })
                                   .wasInterrupted();
}

struct SplitLoops : impl::SplitLoopsBase<SplitLoops> {
  using Base::Base;

  void runOnOperation() override {
    if (!enable)
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (isConstantIntValue(loop.getStep(), 1))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      dropPassed(loop);
      Value bound = findBound(loop);
      if (bound && (ClusterUniformity(getOperation()).isUniform(bound) || !meetsCluster(loop)))
        split(loop, bound);
    }
  }
};

} // namespace
} // namespace tlc::tile
