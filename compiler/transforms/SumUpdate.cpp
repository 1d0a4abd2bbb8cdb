// SPDX-License-Identifier: Apache-2.0
/// \file
/// A search from the product back to the loop's variable, along one operand of each operation.
#include "compiler/transforms/SumUpdate.h"

#include "compiler/transforms/ColumnParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// Columns that are in registers at a time.
constexpr int64_t columnsAtATime = 32;

Value zeroOf(OpBuilder &builder, Location loc, Type type) {
  auto fragment = dyn_cast<RankedTensorType>(type);
  Type element = fragment ? fragment.getElementType() : type;
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  return fragment ? SplatOp::create(builder, loc, fragment, zero) : zero;
}

/// Whether warps that decide on the branch by themselves do so by numbers of their rows, which they have;
/// other fragments may lie in other warps.
bool isByRows(scf::IfOp branch) {
  WalkResult walked = branch->getParentOfType<KernelOp>().walk([&](AnyInWarpOp any) {
    bool decides = llvm::is_contained(decisionsBy(any.getResult()), branch.getOperation());
    return decides && any.getCondition().getType().getShape().back() != 1 ? WalkResult::interrupt()
                                                                          : WalkResult::advance();
  });
  return !walked.wasInterrupted();
}

} // namespace

std::optional<SumUpdate> SumUpdate::find(GemmOp product, BlockArgument carried) {
  SumUpdate update(product, carried);
  Block *block = product->getBlock();
  Value changed = product.getAcc();
  if (!changed.hasOneUse())
    return std::nullopt;
  if (auto result = dyn_cast<OpResult>(changed); result && isa<scf::IfOp>(result.getOwner())) {
    update.branch = cast<scf::IfOp>(result.getOwner());
    unsigned number = result.getResultNumber();
    if (update.branch->getBlock() != block || !update.branch.elseBlock() || !isByRows(update.branch) ||
        update.branch.elseYield().getOperand(number) != carried)
      return std::nullopt;
    block = update.branch.thenBlock();
    changed = update.branch.thenYield().getOperand(number);
  }
  constexpr unsigned usesOfBranch = 2; // what changes it, and the way past that
  bool isAlone = carried.hasNUses(update.branch ? usesOfBranch : 1);
  return isAlone && update.collect(changed, block) && !update.ops.empty() ? std::optional(update)
                                                                          : std::nullopt;
}

bool SumUpdate::collect(Value changed, Block *block) {
  while (changed != carried) {
    Operation *op = changed.getDefiningOp();
    if (!op || op->getBlock() != block || !changed.hasOneUse() || op->getNumResults() != 1 ||
        !OpTrait::hasElementwiseMappableTraits(op) || changed.getType() != carried.getType())
      return false;
    Value before;
    for (Value operand : op->getOperands())
      if (!numberOfRows(operand) && std::exchange(before, operand))
        return false;
    if (!before || before.getType() != carried.getType())
      return false;
    ops.push_back(op);
    changed = before;
  }
  return true;
}

void SumUpdate::moveTo(Value sum, Value isFirst) {
  if (branch)
    takeOutOfBranch();
  ImplicitLocOpBuilder builder(ops.front()->getLoc(), product);
  auto fill = [&](OpBuilder &inside, bool changes, bool fromZeros) {
    forEachPart(sum, inside, [&](Value part, RankedTensorType type) {
      Value loaded = fromZeros ? zeroOf(inside, part.getLoc(), type)
                               : LoadOp::create(inside, part.getLoc(), type, part).getValue();
      StoreOp::create(inside, part.getLoc(), changes ? apply(loaded, inside) : loaded, part,
                      /*staging=*/Value(), /*atom=*/CopyAtomAttr());
    });
  };
  if (branch) { // in the first iteration, too, what few warps do is done to zeros
    auto either = arith::OrIOp::create(builder, branch.getCondition(), isFirst);
    auto around = scf::IfOp::create(builder, either, /*withElseRegion=*/false);
    ImplicitLocOpBuilder inside(builder.getLoc(), around.getThenBodyBuilder());
    OpBuilder zeros = scf::IfOp::create(inside, isFirst, /*withElseRegion=*/false).getThenBodyBuilder();
    fill(zeros, /*changes=*/false, /*fromZeros=*/true);
    OpBuilder changed =
        scf::IfOp::create(inside, branch.getCondition(), /*withElseRegion=*/false).getThenBodyBuilder();
    fill(changed, /*changes=*/true, /*fromZeros=*/false);
  } else {
    auto either = scf::IfOp::create(builder, isFirst, /*withElseRegion=*/true);
    OpBuilder first = either.getThenBodyBuilder(), later = either.getElseBodyBuilder();
    fill(first, /*changes=*/true, /*fromZeros=*/true);
    fill(later, /*changes=*/true, /*fromZeros=*/false);
  }
  product.getAccMutable().assign(carried);
  for (Operation *op : ops)
    op->erase();
}

/// What the operations use that is computed in the branch.
SmallVector<Value> SumUpdate::numbersOfBranch() {
  SmallVector<Value> numbers;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (Value number = numberOfRows(operand); number && number.getParentBlock() == branch.thenBlock())
        numbers.push_back(number);
  return numbers;
}

/// Makes the branch yield the numbers instead of the sum, and moves the operations after it.
void SumUpdate::takeOutOfBranch() {
  const unsigned number = cast<OpResult>(product.getAcc()).getResultNumber();
  SmallVector<Value> numbers = numbersOfBranch();
  SmallVector<Type> types(branch.getResultTypes());
  types.erase(types.begin() + number);
  llvm::append_range(types, TypeRange(ValueRange(numbers)));
  ImplicitLocOpBuilder builder(branch.getLoc(), branch);
  auto made = scf::IfOp::create(builder, types, branch.getCondition(), /*addThenBlock=*/true,
                                /*addElseBlock=*/true);
  for (auto [from, to] : llvm::zip_equal(branch->getRegions(), made->getRegions()))
    to.takeBody(from);
  builder.setInsertionPoint(made.elseYield());
  made.thenYield()->eraseOperand(number);
  made.elseYield()->eraseOperand(number);
  for (Value each : numbers) {
    made.thenYield()->insertOperands(made.thenYield()->getNumOperands(), each);
    made.elseYield()->insertOperands(made.elseYield()->getNumOperands(),
                                     zeroOf(builder, each.getLoc(), each.getType()));
  }
  SmallVector<Value> kept(made.getResults().take_front(types.size() - numbers.size()));
  kept.insert(kept.begin() + number, carried);
  branch.replaceAllUsesWith(kept);
  branch.erase();
  branch = made;
  // After the branch the operations use its results.
  builder.setInsertionPointAfter(made);
  IRMapping outside;
  for (auto [each, result] : llvm::zip_equal(numbers, made.getResults().take_back(numbers.size())))
    outside.map(each, result);
  for (Operation *op : llvm::reverse(ops)) {
    op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
    for (OpOperand &operand : op->getOpOperands())
      if (Value of = numberOfRows(operand.get()); of && outside.contains(of)) {
        builder.setInsertionPoint(op);
        operand.set(repeat(builder, operand.get(), outside.lookup(of),
                           cast<RankedTensorType>(operand.get().getType()).getShape().back()));
        builder.setInsertionPointAfter(op);
      }
  }
}

void SumUpdate::forEachPart(Value sum, OpBuilder &builder,
                            function_ref<void(Value, RankedTensorType)> visit) const {
  const int64_t columns = cast<TensorMemoryType>(sum.getType()).getShape().back();
  for (int64_t first = 0; first < columns; first += columnsAtATime) {
    const int64_t count = std::min(columnsAtATime, columns - first);
    visit(viewColumns(builder, sum, first, count), withColumns(carried, count));
  }
}

Value SumUpdate::apply(Value part, OpBuilder &builder) const {
  auto type = cast<RankedTensorType>(part.getType());
  IRMapping mapping;
  mapping.map(carried, part);
  for (Operation *op : llvm::reverse(ops)) {
    for (Value operand : op->getOperands())
      if (Value number = numberOfRows(operand))
        mapping.map(operand, repeat(builder, operand, number, type.getShape().back()));
    builder.clone(*op, mapping)->getResult(0).setType(type);
  }
  return mapping.lookup(ops.front()->getResult(0));
}
