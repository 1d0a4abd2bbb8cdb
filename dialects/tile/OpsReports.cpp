// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prints and checks: their own checks, and which layouts they take.
#include "dialects/program/Elements.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Reports.h"
#include "dialects/tile/Shapes.h"
#include "runtime/artifact/Reports.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#define GET_OP_CLASSES
#include "dialects/tile/OpsReports.cpp.inc"

bool tile::onlyReports(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
           return effect.getResource() == ReportBuffer::get();
         });
}

std::string tile::sourcePlaceOf(Operation *op) {
  std::string text = placeOf(op);
  StringRef place = text;
  place.consume_front(" at ");
  return place.empty() ? "an unknown place" : place.str();
}

SmallVector<OpOperand *> ReportOp::getFragments() {
  SmallVector<OpOperand *> fragments;
  for (OpOperand &operand : getOperation()->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      fragments.push_back(&operand);
  return fragments;
}

/// report_c3, report_c4
static LogicalResult verifyFragments(ReportOp op) {
  SmallVector<OpOperand *> fragments = op.getFragments();
  if (fragments.empty())
    return success();
  ArrayRef<int64_t> extents = cast<RankedTensorType>(fragments.front()->get().getType()).getShape();
  for (OpOperand *fragment : fragments)
    if (ArrayRef<int64_t> others = cast<RankedTensorType>(fragment->get().getType()).getShape();
        others != extents)
      return op.emitOpError() << "expected fragments of the same extents because their elements are shown "
                                 "together, but got "
                              << toText(extents) << " and " << toText(others);
  if (extents.size() > maxReportAxes)
    return op.emitOpError() << "expected a fragment of at most " << maxReportAxes
                            << " axes because a report has room for as many positions, but got "
                            << extents.size();
  if (op.isCheck() && !isa<RankedTensorType>(op.getCondition().getType()))
    return op.emitOpError()
           << "expected a condition with one truth value per element because the values are fragments, "
              "but got one for all";
  return success();
}

LogicalResult ReportOp::verify() {
  size_t placeholders = countPlaceholders(getText()), values = getValues().size(); // report_c1
  if (placeholders != values)
    return emitOpError() << "expected as many values as the text has '{}', but got " << values << " for "
                         << placeholders;
  if (values > maxReportValues)
    return emitOpError() << "expected at most " << maxReportValues
                         << " values because a report has room for as many, but got " << values;
  for (Type type : getValues().getTypes()) { // report_c2
    std::optional<ElementType> element = toElementType(getElementTypeOrSelf(type));
    if (!element || !isReportable(*element))
      return emitOpError() << "expected values of i32, i64, f32 or f64, but got " << type;
  }
  if (isCheck() && !getElementTypeOrSelf(getCondition().getType()).isSignlessInteger(1)) // report_c4
    return emitOpError() << "expected a condition of truth values, but got " << getCondition().getType();
  return verifyFragments(*this);
}

bool ReportOp::suitsOneThread() { return true; }

LogicalResult ReportOp::stateLayouts(FragmentRules &rules) {
  SmallVector<OpOperand *> fragments = getFragments();
  for (OpOperand *other : llvm::drop_begin(fragments, fragments.empty() ? 0 : 1))
    rules.equal(fragments.front()->get(), *other, "the elements of a report");
  return success();
}
