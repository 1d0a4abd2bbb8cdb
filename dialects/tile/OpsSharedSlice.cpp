// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices of shared tiles: checks, and what accesses of them are.
#include "dialects/tile/CopyChecks.h"
#include "dialects/tile/Fetch.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#define GET_OP_CLASSES
#include "dialects/tile/OpsSharedSlice.cpp.inc"

LogicalResult SliceSharedOp::verify() {
  SharedType tile = getTile().getType();
  std::string name = describe(getTile(), "the tile");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getTile());
    return diagnostic;
  };
  if (failed(verifySlice(*this, getTile(), name))) // slice_shared_c1 to slice_shared_c3
    return failure();
  size_t rank = tile.getShape().size();
  if (int64_t axis = getGatheredAxis().value_or(0); axis < 0 || axis >= int64_t(rank)) // slice_shared_c4
    return report(emitOpError() << "expected a gathered axis from 0 to " << rank - 1 << " because " << name
                                << " has " << rank << " axes, but got axis " << axis);
  for (Operation *user : getSlice().getUsers())
    if (getGatheredAxis() && !isa<AtomicFetchOp, GatherOp, ScatterOp>(user))
      return report(user->emitOpError() << "expected the box of a slice, but the slice of " << name
                                        << " has a position per element");
  if (isPacked(tile.getElementType())) // slice_shared_c5
    return report(emitOpError() << "expected elements of whole bytes because threads write them one by one, "
                                << "but " << name << " has " << tile.getElementType()
                                << "; copy the tile, or whole rows of it, to a fragment");
  if (tile.getLayout() && tile.getLayout().getLayout().rank() != int64_t(rank)) // slice_shared_c6
    return report(emitOpError() << "expected one slot of " << name << ", but got all of them");
  return success();
}

std::optional<uint64_t> tile::gatheredAxisOf(Value slice) {
  if (auto ofTile = slice.getDefiningOp<SliceSharedOp>())
    return ofTile.getGatheredAxis();
  auto ofTensor = slice.getDefiningOp<SliceOp>();
  return ofTensor ? ofTensor.getGatheredAxis() : std::nullopt;
}

MemoryAccess tile::ordinaryAccess(Value memory, AccessKind kind, Value fragment) {
  if (auto slice = memory.getDefiningOp<SliceSharedOp>())
    return {.memory = slice.getTile(), .kind = kind, .order = std::nullopt};
  return {.memory = memory, .kind = kind, .order = std::nullopt, .fragment = fragment};
}

LogicalResult tile::verifySliceOfTensor(Operation *op, Value slice) {
  if (!slice.getDefiningOp<SliceSharedOp>())
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << "expected a slice of a tensor because only threads reach slices of "
                                     "shared tiles, but got one of "
                                  << describe(slice, "a shared tile") << "; copy through a fragment";
  noteDeclaration(diagnostic, slice);
  return diagnostic;
}
