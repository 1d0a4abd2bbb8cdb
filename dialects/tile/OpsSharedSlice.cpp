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
  if (failed(verifySlice(*this, getTile(), name))) // slice_shared_c1 to slice_shared_c4
    return failure();
  size_t rank = tile.getShape().size();
  if (isPacked(tile.getElementType())) // slice_shared_c5
    return report(emitOpError() << "expected elements of whole bytes because threads write them one by one, "
                                << "but " << name << " has " << tile.getElementType()
                                << "; copy the tile, or whole rows of it, to a fragment");
  if (tile.getLayout() && tile.getLayout().getLayout().rank() != int64_t(rank)) // slice_shared_c6
    return report(emitOpError() << "expected one slot of " << name << ", but got all of them");
  return success();
}

ArrayRef<int64_t> tile::gatheredAxesOf(Value slice) {
  if (auto ofTile = slice.getDefiningOp<SliceSharedOp>())
    return ofTile.getGatheredAxes();
  auto ofTensor = slice.getDefiningOp<SliceOp>();
  return ofTensor ? ofTensor.getGatheredAxes() : ArrayRef<int64_t>();
}

namespace {
size_t rankOfSliced(Value slice) { return extentsOf(slice.getDefiningOp()->getOperand(0).getType()).size(); }
} // namespace

bool tile::hasBoxAxes(ArrayRef<int64_t> gathered, size_t rank, size_t sliceRank) {
  if (sliceRank == rank || gathered.empty())
    return sliceRank == rank;
  const bool areAdjacent = gathered.back() - gathered.front() + 1 == int64_t(gathered.size());
  return areAdjacent && sliceRank + gathered.size() >= rank;
}

SmallVector<int> tile::boxAxes(ArrayRef<int64_t> gathered, size_t rank, size_t sliceRank) {
  SmallVector<int> axes;
  for (int64_t axis = 0; axis < int64_t(rank); ++axis) {
    const bool isBehind = !gathered.empty() && axis > gathered.back();
    axes.push_back(
        llvm::is_contained(gathered, axis) ? -1 : int(axis + (isBehind ? int64_t(sliceRank - rank) : 0)));
  }
  return axes;
}

SmallVector<int> tile::boxAxesOf(Value slice) {
  return boxAxes(gatheredAxesOf(slice), rankOfSliced(slice), extentsOf(slice.getType()).size());
}

SmallVector<int64_t> tile::boxExtentsOf(Value slice) {
  ArrayRef<int64_t> extents = extentsOf(slice.getType());
  return llvm::map_to_vector(boxAxesOf(slice),
                             [&](int axis) { return axis < 0 ? 1 : extents[size_t(axis)]; });
}

LogicalResult tile::verifyGatheredAxes(Operation *slice, Value sliced, StringRef name) {
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, sliced);
    return diagnostic;
  };
  Value made = slice->getResult(0);
  ArrayRef<int64_t> gathered = gatheredAxesOf(made);
  const size_t rank = extentsOf(sliced.getType()).size(), sliceRank = extentsOf(made.getType()).size();
  for (int64_t axis : gathered)
    if (axis < 0 || axis >= int64_t(rank))
      return report(slice->emitOpError() << "expected gathered axes from 0 to " << rank - 1 << " because "
                                         << name << " has " << rank << " axes, but got axis " << axis);
  for (auto [before, after] : llvm::zip(gathered.drop_back(), gathered.drop_front()))
    if (before >= after)
      return report(slice->emitOpError()
                    << "expected gathered axes of " << name << " in ascending order, but got axis " << after
                    << " after axis " << before);
  if (!hasBoxAxes(gathered, rank, sliceRank)) {
    if (const size_t boxes = rank - gathered.size(); sliceRank < boxes)
      return report(slice->emitOpError()
                    << "expected a slice of at least " << boxes << " extents because " << name << " has "
                    << boxes << " axes without positions per element, but got " << sliceRank);
    return report(slice->emitOpError()
                  << "expected a slice of " << rank << " extents because " << name << " has " << rank
                  << " axes, and those with positions per element do not follow one another, but got "
                  << sliceRank);
  }
  for (Operation *user : slice->getUsers())
    if (!isa<AtomicFetchOp, GatherOp, ScatterOp>(user))
      return report(user->emitOpError() << "expected the box of a slice, but the slice of " << name
                                        << " has a position per element");
  return success();
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
