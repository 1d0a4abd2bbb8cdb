// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards long rows of a sum in tensor memory are loaded, computed with and stored some columns at a
/// time.

#include "compiler/analysis/TileFills.h"
#include "compiler/transforms/ColumnParts.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_SPLITSTORES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Columns of a part for each warpgroup: those of a panel of 16-bit elements, which the TMA stores at once.
int64_t columnsOfPanel() { return swizzleSpan(Swizzle::bytes128) * 8 / 16; }

class Splitter {
public:
  Splitter(StoreOp store, int64_t columnsOfPart)
      : store(store), slice(store.getDestination().getDefiningOp<SliceOp>()),
        columns(store.getValue().getType().getShape().back()), columnsOfPart(columnsOfPart) {}

  bool canSplit() {
    return store.getValue().getType().getRank() == 2 && columns > columnsOfPart && hasColumns(slice) &&
           isMadeByColumns(store.getValue()) && hasLoad && isForStoreAlone() && canBeRepeated();
  }

  void run() {
    ImplicitLocOpBuilder builder(store.getLoc(), store);
    for (int64_t first = 0; first < columns; first += columnsOfPart) {
      const int64_t count = std::min(columnsOfPart, columns - first);
      parts.clear();
      Value part = partOf(store.getValue(), first, count, builder);
      Value box = partOf(slice, first, count, builder);
      auto stored = cast<StoreOp>(builder.clone(*store));
      stored.getValueMutable().assign(cast<TypedValue<RankedTensorType>>(part));
      stored.getDestinationMutable().assign(box);
    }
    store.erase();
    // The whole fragment would go from role to role.
    SmallVector<Operation *> own(
        llvm::make_filter_range(ops, [&](Operation *op) { return !ops.contains(op->getParentOp()); }));
    for (Operation *op : llvm::reverse(own))
      if (isOpTriviallyDead(op))
        op->erase();
  }

private:
  /// Whether the box has the columns along its last axis, on which nothing else depends.
  bool hasColumns(SliceOp box) const {
    bool isLimited = box && box.getLimitedAxis() && *box.getLimitedAxis() + 1 == box.getOrigin().size();
    return box && box.getSlice().getType().getShape().back() == columns && box.getGatheredAxes().empty() &&
           !box.getOfAll() && box.getTensorOrder() == program::TensorOrder::natural && !isLimited;
  }

  /// Whether it is a load of a tensor that the kernel does not write.
  bool isInput(LoadOp load) const {
    auto box = load.getSource().getDefiningOp<SliceOp>();
    return hasColumns(box) && box.getTensorFacts().getAccess() == program::Access::input && !load.getKind();
  }

  /// Whether each column of it is made of the same column of loaded sums and of numbers of rows.
  bool isMadeByColumns(Value value) {
    Operation *op = value.getDefiningOp();
    if (numberOfRows(value) || (op && ops.contains(op)))
      return true;
    auto load = dyn_cast_if_present<LoadOp>(op);
    if (load && isInput(load))
      return ops.insert(op);
    if (load && isa<TensorMemoryType>(load.getSource().getType()) && isUnchanged(load, store)) {
      hasLoad = true;
      return ops.insert(op);
    }
    if (auto branch = dyn_cast_if_present<scf::IfOp>(op))
      return loadsOrRepeats(branch) && isMadeByColumns(branch.thenYield().getOperand(0)) && ops.insert(op);
    bool isElementwise = op && op->getNumResults() == 1 &&
                         (isa<ConvertOp>(op) || repeatsRow(op) || OpTrait::hasElementwiseMappableTraits(op));
    auto isMade = [&](Value operand) {
      return !isa<RankedTensorType>(operand.getType()) || isMadeByColumns(operand);
    };
    return isElementwise && llvm::all_of(op->getOperands(), isMade) && ops.insert(op);
  }

  /// Whether the branch does nothing but load a sum, or else gives a number for all of its elements.
  bool loadsOrRepeats(scf::IfOp branch) const {
    if (branch->getNumResults() != 1 || !branch.elseBlock())
      return false;
    auto load = branch.thenYield().getOperand(0).getDefiningOp<LoadOp>();
    return load && &branch.thenBlock()->front() == load &&
           load->getNextNode() == branch.thenYield().getOperation() &&
           branch.elseBlock()->without_terminator().empty() && numberOfRows(branch.elseYield().getOperand(0));
  }

  /// Whether the value is there where the store stands.
  bool isVisible(Value value) const { return value.getParentRegion()->isAncestor(store->getParentRegion()); }

  /// Whether what is repeated for each part can stand where the store does.
  bool canBeRepeated() {
    return llvm::all_of(ops, [&](Operation *op) {
      auto isThere = [&](Value operand) {
        Value number = numberOfRows(operand);
        Operation *from = operand.getDefiningOp();
        if (auto box = operand.getDefiningOp<SliceOp>())
          return llvm::all_of(box->getOperands(), [&](Value each) { return isVisible(each); });
        return number ? isVisible(number) : (from && ops.contains(from)) || isVisible(operand);
      };
      return llvm::all_of(op->getOperands(), isThere) &&
             (!isa<scf::IfOp>(op) || isThere(cast<scf::IfOp>(op).elseYield().getOperand(0)));
    });
  }

  bool repeatsRow(Operation *op) const {
    auto broadcast = dyn_cast<BroadcastOp>(op);
    return broadcast && broadcast.getSource().getType().getShape().back() == columns;
  }

  /// Whether nothing else needs what is computed for the store.
  bool isForStoreAlone() {
    return llvm::all_of(ops, [&](Operation *op) {
      return llvm::all_of(op->getUsers(), [&](Operation *user) {
        return user == store || ops.contains(user) ||
               (isa<scf::YieldOp>(user) && ops.contains(user->getParentOp()));
      });
    });
  }

  static Value partOf(SliceOp box, int64_t first, int64_t count, OpBuilder &builder) {
    Location loc = box.getLoc();
    Value origin = arith::AddIOp::create(builder, loc, box.getOrigin().back(),
                                         arith::ConstantIndexOp::create(builder, loc, first));
    auto part = cast<SliceOp>(builder.clone(*box));
    part.getOriginMutable()[part.getOrigin().size() - 1].set(origin);
    SliceType whole = box.getSlice().getType();
    SmallVector<int64_t> extents(whole.getShape());
    extents.back() = count;
    part.getSlice().setType(SliceType::get(builder.getContext(), extents, whole.getElementType()));
    return part;
  }

  Value partOf(Value value, int64_t first, int64_t count, OpBuilder &builder) {
    if (Value part = parts.lookupOrNull(value))
      return part;
    if (Value number = numberOfRows(value))
      return repeat(builder, value, number, count);
    Operation *op = value.getDefiningOp();
    if (auto load = dyn_cast<LoadOp>(op)) {
      auto box = load.getSource().getDefiningOp<SliceOp>();
      Value part =
          box ? partOf(box, first, count, builder) : viewColumns(builder, load.getSource(), first, count);
      return LoadOp::create(builder, load.getLoc(), withColumns(value, count), part).getValue();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      auto yield = [&](scf::YieldOp from) {
        return [=, this, given = from.getOperand(0)](OpBuilder &inside, Location loc) {
          scf::YieldOp::create(inside, loc, partOf(given, first, count, inside));
        };
      };
      auto made = scf::IfOp::create(builder, branch.getLoc(), branch.getCondition(),
                                    yield(branch.thenYield()), yield(branch.elseYield()));
      parts.map(value, made.getResult(0));
      return made.getResult(0);
    }
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        mapping.map(operand, partOf(operand, first, count, builder));
    Operation *made = builder.clone(*op, mapping);
    made->getResult(0).setType(withColumns(value, count));
    parts.map(value, made->getResult(0));
    return made->getResult(0);
  }

  StoreOp store;
  SliceOp slice;
  int64_t columns, columnsOfPart;
  bool hasLoad = false;
  llvm::SetVector<Operation *> ops; ///< that make what is stored of sums
  IRMapping parts;
};

struct SplitStores : impl::SplitStoresBase<SplitStores> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (synchronisesByHand(kernel) || kernel.getWarps() == 0 || kernel.getWarps() % warpsPerWarpgroup != 0)
      return;
    const int64_t warpgroups = int64_t(kernel.getWarps()) / warpsPerWarpgroup;
    SmallVector<StoreOp> stores;
    kernel.walk([&](StoreOp store) { stores.push_back(store); });
    for (StoreOp store : stores)
      if (Splitter splitter(store, warpgroups * columnsOfPanel()); splitter.canSplit())
        splitter.run();
  }
};

} // namespace
} // namespace tlc::tile
