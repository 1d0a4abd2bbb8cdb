// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a branch that few warps take loads sums again from tensor memory, instead of keeping them in
/// registers for the case that it is taken.

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/TileFills.h"
#include "compiler/transforms/ColumnParts.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_RELOADSUMS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// A branch on which each warp decides.
class Reload {
public:
  explicit Reload(scf::IfOp branch) : branch(branch) {}

  void run() {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(branch.getThenRegion(), captured);
    SmallVector<Value> again;
    for (Value value : captured)
      if (isTile(value) && collect(value))
        again.push_back(value);
    OpBuilder builder = OpBuilder::atBlockBegin(branch.thenBlock());
    IRMapping mapping;
    for (Operation *op : slice)
      builder.clone(*op, mapping);
    for (Value value : again)
      replaceAllUsesInRegionWith(value, mapping.lookup(value), branch.getThenRegion());
  }

private:
  /// Numbers of rows are few.
  static bool isTile(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getRank() == 2 && type.getShape().back() > 1;
  }

  /// Arithmetic without special functions, also in a branch.
  static bool isLittle(Operation *op) {
    if (auto inner = dyn_cast<scf::IfOp>(op))
      return llvm::all_of(inner->getRegions(), [](Region &region) {
        return llvm::all_of(region.getOps(), [](Operation &each) {
          return isa<scf::YieldOp>(each) || makesFragment(&each) || isa<BroadcastOp, ConvertOp>(each) ||
                 isLittle(&each);
        });
      });
    bool isScalar = llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    return isMemoryEffectFree(op) && op->getDialect()->getNamespace() != "math" &&
           (op->hasTrait<OpTrait::Elementwise>() ||
            (isScalar && op->getNumRegions() == 0 && !isa<AnyInWarpOp>(op)));
  }

  /// Whether little arithmetic makes the fragment of sums; takes that, and their loads, into the slice.
  bool collect(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != branch->getBlock())
      return false;
    if (slice.contains(op))
      return true;
    if (auto load = dyn_cast<LoadOp>(op); load && isa<TensorMemoryType>(load.getSource().getType())) {
      if (!isUnchanged(load, branch))
        return false;
      return slice.insert(op);
    }
    if (!isLittle(op))
      return false;
    llvm::SetVector<Value> operands;
    operands.insert_range(op->getOperands());
    getUsedValuesDefinedAbove(op->getRegions(), operands);
    bool isOfSums = false;
    for (Value operand : operands)
      isOfSums |= isTile(operand) && collect(operand);
    return isOfSums && slice.insert(op);
  }

  scf::IfOp branch;
  llvm::SetVector<Operation *> slice;
};

struct ReloadSums : impl::ReloadSumsBase<ReloadSums> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (synchronisesByHand(kernel)) // it may have released the sums before
      return;
    llvm::SetVector<Operation *> branches;
    kernel.walk([&](AnyInWarpOp any) { branches.insert_range(decisionsBy(any.getResult())); });
    for (Operation *op : branches)
      if (auto branch = dyn_cast<scf::IfOp>(op))
        Reload(branch).run();
  }
};

} // namespace
} // namespace tlc::tile
