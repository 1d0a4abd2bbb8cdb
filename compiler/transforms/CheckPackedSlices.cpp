// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards slices of packed elements are known to consist of whole bytes.

#include "compiler/analysis/Divisibility.h"
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Names.h"

namespace tlc::tile {
#define GEN_PASS_DEF_CHECKPACKEDSLICES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// `what` is named where it may be elsewhere than at a byte's first element.
LogicalResult checkPosition(SliceOp slice, Value position, StringRef what) {
  Type element = slice.getType().getElementType();
  int64_t together = elementsPerUnit(element), known = knownDivisor(position);
  if (known % together == 0)
    return success();
  InFlightDiagnostic diagnostic =
      slice.emitOpError() << "expected " << what << " of the slice of "
                          << describe(slice.getTensor(), "the tensor") << " to be known to be a multiple of "
                          << together << " along the last axis because as many " << element
                          << " share a byte, but it is known to be one of " << known << "; write it as "
                          << together << " times a position";
  noteDeclaration(diagnostic, slice.getTensor());
  return diagnostic;
}

LogicalResult check(SliceOp slice) {
  if (!isPacked(slice.getType().getElementType()))
    return success();
  if (failed(checkPosition(slice, slice.getOrigin().back(), "the begin")))
    return failure();
  bool isLimited = slice.getLimit() && size_t(*slice.getLimitedAxis()) + 1 == slice.getOrigin().size();
  return isLimited ? checkPosition(slice, slice.getLimit(), "the limit") : success();
}

struct CheckPackedSlices : impl::CheckPackedSlicesBase<CheckPackedSlices> {
  void runOnOperation() override {
    auto checked = getOperation().walk([](SliceOp slice) { return WalkResult(check(slice)); });
    if (checked.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
