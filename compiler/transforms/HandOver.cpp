// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tile is filled where its fragment is computed, and read there by the other role: that comes as far as
/// the program's order lets it.
#include "compiler/transforms/HandOver.h"

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/FragmentOwners.h"
#include "compiler/analysis/RolePlan.h"
#include "dialects/tile/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// Makes operations that one role executes.
class RoleBuilder : public ImplicitLocOpBuilder {
public:
  RoleBuilder(Location loc, StringRef role) : ImplicitLocOpBuilder(loc, loc.getContext()), role(role) {}

  template <typename Op, typename... Args> Op create(Args &&...args) {
    auto op = Op::create(*this, std::forward<Args>(args)...);
    setPlannedRole(op, role);
    return op;
  }
  Value number(RankedTensorType type, int64_t value) {
    auto scalar = arith::ConstantOp::create(*this, getIntegerAttr(type.getElementType(), value));
    return create<SplatOp>(type, scalar);
  }

private:
  StringRef role;
};

// Truth values go from role to role as bits, eight neighbours along an axis in a byte: threads that have
// these are of one warp in the layouts of products. Where no axis has whole bytes, one takes a byte.

constexpr int64_t bitsOfByte = 8;

bool isTruth(RankedTensorType type) { return type.getElementType().isInteger(1); }

/// The last axis with whole bytes; nothing if there is none.
std::optional<int64_t> packedAxis(RankedTensorType type) {
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis)
    if (type.getDimSize(axis) % bitsOfByte == 0)
      return axis;
  return std::nullopt;
}

/// With two axes for the packed one: its bytes, and `bits` of each.
RankedTensorType bytesOf(RankedTensorType type, int64_t axis, int64_t bits, Type element) {
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] /= bitsOfByte;
  shape.insert(shape.begin() + axis + 1, bits);
  return RankedTensorType::get(shape, element);
}

/// What of a fragment lies in shared memory while it is handed over. Elements of four bits whose rows are no
/// whole bytes take more of them.
RankedTensorType storedType(RankedTensorType type) {
  Type element = type.getElementType();
  if (isTruth(type)) {
    Type byte = IntegerType::get(type.getContext(), bitsOfByte);
    std::optional<int64_t> axis = packedAxis(type);
    return axis ? bytesOf(type, *axis, /*bits=*/1, byte) : type.clone(byte);
  }
  if (packingProblem(/*what=*/"", type.getShape(), type.getRank() - 1, element).empty())
    return type;
  auto integer = dyn_cast<IntegerType>(element);
  return type.clone(integer ? Type(IntegerType::get(type.getContext(), bitsOfByte, integer.getSignedness()))
                            : Type(Float16Type::get(type.getContext())));
}

/// Of each element of a byte the number with its bit alone.
Value bitsInBytes(RoleBuilder &builder, RankedTensorType type, int64_t axis) {
  Value place = builder.create<CoordinatesOp>(type.clone(builder.getIndexType()), axis);
  Value shift = builder.create<arith::IndexCastOp>(type, place);
  return builder.create<arith::ShLIOp>(builder.number(type, 1), shift);
}

Value bitsOf(RoleBuilder &builder, TypedValue<RankedTensorType> conditions) {
  RankedTensorType type = conditions.getType();
  Type word = builder.getI32Type();
  std::optional<int64_t> axis = packedAxis(type);
  if (!axis)
    return builder.create<arith::SelectOp>(conditions, builder.number(storedType(type), 1),
                                           builder.number(storedType(type), 0));
  RankedTensorType each = bytesOf(type, *axis, bitsOfByte, word);
  Value apart = builder.create<ReshapeOp>(each.clone(type.getElementType()), conditions);
  Value bits =
      builder.create<arith::SelectOp>(apart, bitsInBytes(builder, each, *axis + 1), builder.number(each, 0));
  Value bytes =
      builder.create<ReduceOp>(bytesOf(type, *axis, 1, word), bits, *axis + 1, ReduceKind::bitOr, Value());
  return builder.create<ConvertOp>(storedType(type), bytes);
}

Value conditionsOf(RoleBuilder &builder, Value stored, RankedTensorType type) {
  Type word = builder.getI32Type();
  std::optional<int64_t> axis = packedAxis(type);
  if (!axis)
    return builder.create<arith::CmpIOp>(arith::CmpIPredicate::ne, stored,
                                         builder.number(storedType(type), 0));
  RankedTensorType each = bytesOf(type, *axis, bitsOfByte, word);
  Value bytes = builder.create<ConvertOp>(bytesOf(type, *axis, 1, word), stored);
  Value wide = builder.create<BroadcastOp>(each, bytes);
  Value bits = builder.create<arith::AndIOp>(wide, bitsInBytes(builder, each, *axis + 1));
  Value isSet = builder.create<arith::CmpIOp>(arith::CmpIPredicate::ne, bits, builder.number(each, 0));
  return builder.create<ReshapeOp>(type, isSet);
}

/// What is stored of a fragment.
Value storedOf(RoleBuilder &builder, TypedValue<RankedTensorType> value) {
  RankedTensorType type = value.getType();
  if (isTruth(type))
    return bitsOf(builder, value);
  return storedType(type) == type ? Value(value) : builder.create<ConvertOp>(storedType(type), value);
}

/// The fragment of what is stored of it.
Value fragmentOf(RoleBuilder &builder, Value stored, RankedTensorType type) {
  if (isTruth(type))
    return conditionsOf(builder, stored, type);
  if (stored.getType() == type)
    return stored;
  const bool saturate = isa<FloatType>(type.getElementType());
  return builder.create<ConvertOp>(type, stored, Rounding::nearest, saturate);
}

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
    if (!slice || owners.of(value) == role || isCheapFragment(value) ||
        storedType(value.getType()) != value.getType())
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
    Value tile = handed(value, role, "fragment");
    RoleBuilder builder(value.getLoc(), role);
    builder.setInsertionPointAfter(fills.lookup(tile));
    Value stored = builder.create<LoadOp>(storedType(value.getType()), tile);
    return local[{value, role}] = fragmentOf(builder, stored, value.getType());
  }

  /// The tile in which the role finds the fragment.
  Value handed(TypedValue<RankedTensorType> value, StringRef role, StringRef name) {
    Value &tile = tileOf[{value, role}];
    if (tile)
      return tile;
    StringRef owner = owners.of(value);
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    tile = AllocSharedOp::create(top, value.getLoc(), handedTile(storedType(value.getType())), name,
                                 IntegerAttr());
    RoleBuilder builder(value.getLoc(), owner);
    builder.setInsertionPointAfterValue(value);
    auto fill = builder.create<StoreOp>(storedOf(builder, value), tile, /*staging=*/Value(),
                                        /*atom=*/CopyAtomAttr());
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
