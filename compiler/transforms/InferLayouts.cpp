// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every fragment and every shared buffer has its layout; where two layouts
/// that must differ meet there is a conversion.

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/ElementOrders.h"
#include "compiler/analysis/LayoutConstraints.h"
#include "compiler/analysis/RegisterWriters.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/solvers/LayoutSolver.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {
#define GEN_PASS_DEF_INFERLAYOUTS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

RankedTensorType withLayout(Type type, const FragmentLayout &layout) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               LayoutAttr::get(tensor.getContext(), layout));
}

/// A broadcast along several axes becomes one per axis: each is one constraint.
void splitBroadcasts(KernelOp kernel) {
  SmallVector<BroadcastOp> broadcasts;
  kernel.walk([&](BroadcastOp op) { broadcasts.push_back(op); });
  for (BroadcastOp op : broadcasts) {
    auto result = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<int64_t> shape(cast<RankedTensorType>(op.getSource().getType()).getShape());
    SmallVector<int64_t> axes;
    for (int64_t axis = 0; axis < result.getRank(); ++axis)
      if (shape[axis] != result.getDimSize(axis))
        axes.push_back(axis);
    if (axes.size() < 2)
      continue;
    OpBuilder builder(op);
    Value value = op.getSource();
    for (int64_t axis : axes) {
      shape[axis] = result.getDimSize(axis);
      value = BroadcastOp::create(builder, op.getLoc(), RankedTensorType::get(shape, result.getElementType()),
                                  value);
    }
    op.getResult().replaceAllUsesWith(value);
    op.erase();
  }
}

/// A fragment that every thread makes for itself is made once per use, in the user's layout and role.
void separateUses(KernelOp kernel) {
  SmallVector<Operation *> makers;
  kernel.walk([&](Operation *op) {
    if (makesFragment(op))
      makers.push_back(op);
  });
  for (Operation *maker : makers) {
    for (OpOperand &use : llvm::make_early_inc_range(maker->getUses()))
      use.set(OpBuilder(use.getOwner()).clone(*maker)->getResult(0));
    maker->erase();
  }
}

LogicalResult report(const LayoutConflict &conflict, const LayoutConstraints &constraints) {
  auto anchorOp = [&](ConstraintId id) {
    return constraints.anchors[constraints.problem.constraints()[id].anchor.operation];
  };
  InFlightDiagnostic diag = anchorOp(conflict.constraint)->emitError() << conflict.message;
  for (ConstraintId origin : {conflict.fromOrigin, conflict.toOrigin})
    if (origin >= 0 && origin != conflict.constraint)
      diag.attachNote(anchorOp(origin)->getLoc()) << "one of the layouts comes from here";
  return diag;
}

void setTypes(const LayoutConstraints &constraints, const LayoutSolution &solution) {
  for (auto [value, id] : constraints.variables) {
    RankedTensorType type = withLayout(value.getType(), solution.layouts[id]);
    value.setType(type);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  }
}

/// Whether it is a product in flight whose left factor is that value, in registers.
bool hasLeftFactor(Operation *op, Value value) {
  auto product = dyn_cast<InFlightOpInterface>(op);
  return product && completionOf(op) == Completion::productGroup && factorInRegisters(product) == value;
}

/// Where a conversion for the use stands: before its operation. A product may read its left factor until a
/// later iteration, so that what is made before a loop is converted there, too; and nothing may read its
/// registers meanwhile, so that a factor of several products is converted before the first of them.
Operation *placeBefore(const OpOperand &use) {
  Operation *place = use.getOwner();
  Value factor = use.get();
  if (!hasLeftFactor(place, factor))
    return place;
  for (Operation *at = place->getParentOp(); !isa<RoleOp, KernelOp>(at); at = at->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(at); loop && loop.isDefinedOutsideOfLoop(factor))
      place = loop;
  for (Operation *user : factor.getUsers()) {
    auto isProduct = [&](Operation *op) { return hasLeftFactor(op, user->getResult(0)); };
    bool isFactor = hasLeftFactor(user, factor) ||
                    (isa<ConvertLayoutOp>(user) && llvm::any_of(user->getUsers(), isProduct));
    Operation *earlier = isFactor ? place->getBlock()->findAncestorOpInBlock(*user) : nullptr;
    if (earlier && earlier->isBeforeInBlock(place))
      place = earlier;
  }
  return place;
}

/// What an earlier product has had its left factor converted to, if that is also this one's; null otherwise.
Value knownConversion(const OpOperand &use, RankedTensorType to) {
  if (!hasLeftFactor(use.getOwner(), use.get()))
    return {};
  for (Operation *user : use.get().getUsers()) {
    auto isProduct = [&](Operation *op) { return hasLeftFactor(op, user->getResult(0)); };
    bool isOfProduct = isa<ConvertLayoutOp>(user) && llvm::any_of(user->getUsers(), isProduct);
    Operation *place = isOfProduct ? user->getBlock()->findAncestorOpInBlock(*use.getOwner()) : nullptr;
    if (place && user->isBeforeInBlock(place) && user->getResult(0).getType() == to)
      return user->getResult(0);
  }
  return {};
}

void insertConversion(const LayoutConversion &conversion, const LayoutConstraints &constraints) {
  const ConstraintSite &site = constraints.sites[conversion.constraint];
  if (site.use) {
    Value value = site.use->get();
    auto to = withLayout(value.getType(), conversion.to);
    if (Value known = knownConversion(*site.use, to)) {
      site.use->set(known);
      return;
    }
    OpBuilder builder(placeBefore(*site.use));
    site.use->set(ConvertLayoutOp::create(builder, site.use->getOwner()->getLoc(), to, value, Value()));
    return;
  }
  // The operation produces what its rule says; everybody else sees the variable's layout. For `fixed` the
  // operation's side is the constraint's layout, for relations it is what the source makes of it.
  Value result = site.result;
  const LayoutConstraint &constraint = constraints.problem.constraints()[conversion.constraint];
  const FragmentLayout &produced =
      constraint.kind == ConstraintKind::fixed ? *constraint.layout : conversion.from;
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfterValue(result);
  Type seen = result.getType();
  result.setType(withLayout(seen, produced));
  auto convert = ConvertLayoutOp::create(builder, result.getLoc(), seen, result, Value());
  result.replaceAllUsesExcept(convert.getResult(), convert);
}

/// Conversions through shared memory cost time, but for those of values that are soon folded into their use.
void remark(const LayoutConversion &conversion, const LayoutConstraints &constraints) {
  OpOperand *use = constraints.sites[conversion.constraint].use;
  if (conversion.kind != RelayoutKind::throughShared || (use && isCheapFragment(use->get())))
    return;
  const Anchor &anchor = constraints.problem.constraints()[conversion.constraint].anchor;
  emitRemark(constraints.anchors[anchor.operation], RemarkId::layoutConversion) << conversion.remark;
}

/// One slot's layout: the swizzle that TMA and the matrix units like best, the order that products want.
void layOutBuffers(KernelOp kernel) {
  kernel.walk([](AllocSharedOp buffer) {
    auto type = cast<SharedType>(buffer.getBuffer().getType());
    bool hasSlots = llvm::any_of(buffer->getUsers(), [](Operation *user) {
      auto view = dyn_cast<ViewOpInterface>(user);
      return view && view.getSlotCursor();
    });
    ArrayRef<int64_t> extents = type.getShape().drop_front(hasSlots ? 1 : 0);
    Shape shape(extents.begin(), extents.end());
    int bits = int(type.getElementType().getIntOrFloatBitWidth());
    SharedLayout natural = SharedLayout::preferred(shape, bits, int(shape.size()) - 1);
    RowOrder order = rowOrderOf(buffer);
    Result<SharedLayout> ordered =
        order == accumulatorOrder() ? SharedLayout::plain(shape, bits, int(shape.size()) - 1).withOrder(order)
                                    : natural.withOrder(order);
    const SharedLayout &layout = ordered ? *ordered : natural;
    SmallVector<Value> views = {buffer.getBuffer()};
    auto attr = SharedLayoutAttr::get(buffer.getContext(), layout);
    while (!views.empty()) {
      Value view = views.pop_back_val();
      auto old = cast<SharedType>(view.getType());
      view.setType(
          SharedType::get(old.getContext(), old.getShape(), old.getElementType(), attr, old.getTransposed()));
      for (Operation *user : view.getUsers())
        if (isa<ViewOpInterface>(user) && isa<SharedType>(user->getResult(0).getType())) // slices have none
          views.push_back(user->getResult(0));
    }
  });
}

struct InferLayouts : impl::InferLayoutsBase<InferLayouts> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getWarps() == 0) {
      kernel.emitError("expected a number of warps; run 'tile-select-products' before 'tile-infer-layouts'");
      return signalPassFailure();
    }
    splitBroadcasts(kernel);
    separateUses(kernel);
    layOutBuffers(kernel); // first: a factor in registers follows the order of the other's elements
    FailureOr<LayoutConstraints> constraints = LayoutConstraints::collect(kernel);
    if (failed(constraints))
      return signalPassFailure();
    assert(constraints->problem.check() && "constraints follow from operations that verify");
    LayoutOutcome outcome = solveLayouts(constraints->problem);
    if (auto *conflict = std::get_if<LayoutConflict>(&outcome)) {
      (void)report(*conflict, *constraints);
      return signalPassFailure();
    }
    const auto &solution = std::get<LayoutSolution>(outcome);
    assert(verify(constraints->problem, solution) && "the solver's answer fits its problem");
    setTypes(*constraints, solution);
    for (const LayoutConversion &conversion : solution.conversions) {
      remark(conversion, *constraints);
      insertConversion(conversion, *constraints);
    }
  }
};

} // namespace
} // namespace tlc::tile
