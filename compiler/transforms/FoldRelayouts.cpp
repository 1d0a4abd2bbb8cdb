// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards no conversion is left of a value that is as cheap to make in the wanted
/// layout, nor of another conversion.

#include "compiler/analysis/CheapFragments.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/Relayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_FOLDRELAYOUTS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// The same cheap fragment made in another layout, with all that it follows from.
Value remade(Value value, const FragmentLayout &layout, OpBuilder &builder) {
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()) || mapping.contains(operand))
      continue;
    FragmentLayout needed = layout;
    if (isa<BroadcastOp>(op))
      for (auto [axis, extent] : llvm::enumerate(cast<RankedTensorType>(operand.getType()).getShape()))
        if (extent != cast<RankedTensorType>(value.getType()).getDimSize(axis))
          needed = needed.reduced(int(axis));
    mapping.map(operand, remade(operand, needed, builder));
  }
  Operation *copy = builder.clone(*op, mapping);
  auto type =
      cast<RankedTensorType>(value.getType()).cloneWithEncoding(LayoutAttr::get(value.getContext(), layout));
  copy->getResult(0).setType(type);
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  return copy->getResult(0);
}

RelayoutKind kindOf(ConvertLayoutOp convert) {
  ArrayRef<int64_t> shape = convert.getSource().getType().getShape();
  return planRelayout(layoutOf(convert.getSource()), layoutOf(convert.getResult()),
                      Shape(shape.begin(), shape.end()))
      .kind;
}

/// A conversion that only renames registers, and is the only use of a branch's result, moves into the branch:
/// what packs several elements into a register then packs those at once that the use wants together. Not next
/// to another conversion: as one, the two may move data between threads, which stays outside.
SmallVector<ConvertLayoutOp> moveIntoBranch(ConvertLayoutOp convert) {
  auto result = dyn_cast<OpResult>(convert.getSource());
  auto branch = result ? dyn_cast<scf::IfOp>(result.getOwner()) : scf::IfOp();
  if (!branch || !result.hasOneUse() || kindOf(convert) > RelayoutKind::withinThread)
    return {};
  SmallVector<OpOperand *> yielded;
  for (Region &region : branch->getRegions())
    yielded.push_back(&region.front().getTerminator()->getOpOperand(result.getResultNumber()));
  if (llvm::any_of(yielded, [](OpOperand *value) { return value->get().getDefiningOp<ConvertLayoutOp>(); }))
    return {};
  RankedTensorType wanted = convert.getResult().getType();
  SmallVector<ConvertLayoutOp> moved;
  for (OpOperand *value : yielded) {
    OpBuilder builder(value->getOwner());
    moved.push_back(ConvertLayoutOp::create(builder, convert.getLoc(), wanted, value->get(), Value()));
    value->set(moved.back());
  }
  result.setType(wanted);
  convert.getResult().replaceAllUsesWith(result);
  return moved;
}

/// What the conversion can be replaced by, or null.
Value replacementFor(ConvertLayoutOp convert) {
  Value source = convert.getSource();
  RankedTensorType wanted = convert.getResult().getType();
  if (source.getType() == wanted)
    return source;
  OpBuilder builder(convert);
  if (auto earlier = source.getDefiningOp<ConvertLayoutOp>()) {
    if (earlier.getSource().getType() == wanted)
      return earlier.getSource();
    return ConvertLayoutOp::create(builder, convert.getLoc(), wanted, earlier.getSource(), Value());
  }
  if (!isCheapFragment(source))
    return {};
  // Registers that are merely renamed cost nothing.
  if (kindOf(convert) <= RelayoutKind::withinThread)
    return {};
  return remade(source, layoutOf(convert.getResult()), builder);
}

struct FoldRelayouts : impl::FoldRelayoutsBase<FoldRelayouts> {
  void runOnOperation() override {
    SmallVector<ConvertLayoutOp> conversions;
    getOperation().walk([&](ConvertLayoutOp convert) { conversions.push_back(convert); });
    llvm::SetVector<Operation *> sources;             // of conversions that are gone
    for (size_t i = 0; i < conversions.size(); ++i) { // it grows
      ConvertLayoutOp convert = conversions[i];
      SmallVector<ConvertLayoutOp> moved;
      if (Value value = replacementFor(convert))
        convert.getResult().replaceAllUsesWith(value);
      else if (moved = moveIntoBranch(convert); moved.empty())
        continue;
      llvm::append_range(conversions, moved);
      if (Operation *source = convert.getSource().getDefiningOp())
        sources.insert(source);
      sources.remove(convert);
      convert.erase();
    }
    eraseUnused(sources);
  }

  /// Erases those that nobody uses, and what they alone used.
  static void eraseUnused(llvm::SetVector<Operation *> &candidates) {
    while (!candidates.empty()) {
      Operation *op = candidates.pop_back_val();
      if (!isOpTriviallyDead(op))
        continue;
      op->walk([&](Operation *inner) {
        candidates.remove(inner);
        for (Value operand : inner->getOperands())
          if (Operation *source = operand.getDefiningOp(); source && !op->isAncestor(source))
            candidates.insert(source);
      });
      op->erase();
    }
  }
};

} // namespace
} // namespace tlc::tile
