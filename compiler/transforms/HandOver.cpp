// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tile is filled where its fragment is computed, and read there by the other role: that comes as far as
/// the program's order lets it.
#include "compiler/transforms/HandOver.h"

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/FragmentOwners.h"
#include "compiler/analysis/RolePlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

class HandOver {
public:
  HandOver(KernelOp kernel, StringRef fallback) : kernel(kernel), owners(fallback) {}

  SmallVector<StoreOp> run() {
    SmallVector<Operation *> ops;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      visit(op);
    // What each role has made for itself may be of no use where it was, which may be another role's branch.
    for (Operation *op : llvm::reverse(ops))
      if (op->getNumResults() == 1 && isCheapFragment(op->getResult(0)) && op->use_empty())
        op->erase();
    return std::move(stores);
  }

private:
  void visit(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument] : llvm::zip_equal(loop.getInitArgsMutable(), loop.getRegionIterArgs()))
        bring(init, owners.of(argument));
    } else if (auto yield = dyn_cast<scf::YieldOp>(op)) {
      for (auto [operand, result] : llvm::zip_equal(yield->getOpOperands(), op->getParentOp()->getResults()))
        bring(operand, owners.of(result));
    } else if (StringRef role = plannedRoleOf(op); !role.empty()) {
      if (auto store = dyn_cast<StoreOp>(op); store && storesTile(store, role))
        return;
      for (OpOperand &operand : op->getOpOperands())
        bring(operand, role);
    }
  }

  /// Lets the role have the operand of an operation that it executes.
  void bring(OpOperand &operand, StringRef role) {
    auto value = dyn_cast<TypedValue<RankedTensorType>>(operand.get());
    if (!value || owners.of(value) == role)
      return;
    if (isCheapFragment(value))
      operand.set(repeated(value, role));
    else if (!takesTile(operand, role))
      operand.set(loaded(value, role));
  }

  /// A copy that the role makes for itself.
  Value repeated(Value value, StringRef role) {
    Value &copy = local[{value, role}];
    if (copy)
      return copy;
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        mapping.map(operand, repeated(operand, role));
    Operation *clone = OpBuilder(op->getContext()).clone(*op, mapping);
    op->getBlock()->getOperations().insertAfter(op->getIterator(), clone);
    setPlannedRole(clone, role);
    return local[{value, role}] = clone->getResult(0);
  }

  /// A role that stores what another one computes copies it from shared memory.
  bool storesTile(StoreOp store, StringRef role) {
    TypedValue<RankedTensorType> value = store.getValue();
    auto slice = store.getDestination().getDefiningOp<SliceOp>();
    if (!slice || owners.of(value) == role || isCheapFragment(value))
      return false;
    Value tile = handed(value, role, (slice.getTensorFacts().getName() + ".tile").str());
    OpBuilder builder(store);
    setPlannedRole(CopyOp::create(builder, store.getLoc(), tile, slice, /*atom=*/CopyAtomAttr()), role);
    store.erase();
    return true;
  }

  /// A product takes its left factor from shared memory.
  bool takesTile(OpOperand &operand, StringRef role) {
    auto product = dyn_cast<GemmOp>(operand.getOwner());
    if (!product || &operand != &product.getAMutable())
      return false;
    operand.set(handed(cast<TypedValue<RankedTensorType>>(operand.get()), role, "factor"));
    return true;
  }

  Value loaded(TypedValue<RankedTensorType> value, StringRef role) {
    Value &copy = local[{value, role}];
    if (copy)
      return copy;
    bool isTruth = value.getType().getElementType().isInteger(1);
    ImplicitLocOpBuilder builder(value.getLoc(), kernel.getContext());
    Value tile = handed(value, role, "fragment");
    builder.setInsertionPointAfter(fills.lookup(tile));
    RankedTensorType type = storedType(value.getType());
    Operation *load = LoadOp::create(builder, type, tile);
    setPlannedRole(load, role);
    Value result = load->getResult(0);
    if (isTruth) {
      Value zero = number(builder, type, 0, role);
      auto isSet = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, result, zero);
      setPlannedRole(isSet, role);
      result = isSet;
    }
    return local[{value, role}] = result;
  }

  /// Truth values have no place in shared memory.
  static RankedTensorType storedType(RankedTensorType type) {
    Type element = type.getElementType();
    return element.isInteger(1) ? type.clone(IntegerType::get(type.getContext(), 32)) : type;
  }

  static Value number(ImplicitLocOpBuilder &builder, RankedTensorType type, int64_t value, StringRef role) {
    Value scalar = arith::ConstantOp::create(builder, builder.getIntegerAttr(type.getElementType(), value));
    auto splat = SplatOp::create(builder, type, scalar);
    setPlannedRole(splat, role);
    return splat;
  }

  /// The tile in which the role finds the fragment.
  Value handed(TypedValue<RankedTensorType> value, StringRef role, StringRef name) {
    Value &tile = tileOf[{value, role}];
    if (tile)
      return tile;
    StringRef owner = owners.of(value);
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    RankedTensorType type = storedType(value.getType());
    tile = AllocSharedOp::create(top, value.getLoc(), handedTile(type), name, IntegerAttr());
    ImplicitLocOpBuilder builder(value.getLoc(), kernel.getContext());
    builder.setInsertionPointAfterValue(value);
    Value stored = value;
    if (type != value.getType()) {
      Value one = number(builder, type, 1, owner), zero = number(builder, type, 0, owner);
      auto select = arith::SelectOp::create(builder, value, one, zero);
      setPlannedRole(select, owner);
      stored = select;
    }
    auto fill = StoreOp::create(builder, stored, tile, /*staging=*/Value(), /*atom=*/CopyAtomAttr());
    setPlannedRole(fill, owner);
    stores.push_back(fill);
    fills[tile] = fill;
    return tile;
  }

  KernelOp kernel;
  FragmentOwners owners;
  llvm::DenseMap<std::pair<Value, StringRef>, Value> local, tileOf;
  llvm::DenseMap<Value, Operation *> fills;
  SmallVector<StoreOp> stores;
};

} // namespace

SmallVector<StoreOp> tile::handOverFragments(KernelOp kernel, StringRef fallback) {
  return HandOver(kernel, fallback).run();
}
