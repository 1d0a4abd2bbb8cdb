// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks that operations on fragments and slices have in common. Each reports what it finds.
#pragma once

#include "dialects/tile/Names.h"
#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// Same extents, those of 1 aside, and the same element type; `from` and `to` say what the two are where the
/// user gave them no name.
llvm::LogicalResult verifySameTile(mlir::Operation *op, mlir::Value source, llvm::StringRef from,
                                   mlir::Value destination, llvm::StringRef to);
/// The elements that are combined atomically in that way.
llvm::LogicalResult verifyCombined(mlir::Operation *op, CombineKind kind, mlir::Value destination);
/// A position for each element of a fragment along each gathered axis of the slice, which has some.
llvm::LogicalResult verifyIndices(mlir::Operation *op, mlir::Value slice, mlir::Value fragment,
                                  mlir::ValueRange indices);
/// Axes of what a slice is of, of that name; the slice has an axis for each other one, and only operations
/// with positions use it.
llvm::LogicalResult verifyGatheredAxes(mlir::Operation *slice, mlir::Value sliced, llvm::StringRef name);

/// What slices of tensors and of shared tiles must be: `sliced` is the tensor or tile, of that name.
template <class Op, class Sliced>
llvm::LogicalResult verifySlice(Op op, Sliced sliced, llvm::StringRef name) {
  auto report = [&](mlir::InFlightDiagnostic diagnostic) -> llvm::LogicalResult {
    noteDeclaration(diagnostic, sliced);
    return diagnostic;
  };
  SliceType slice = op.getSlice().getType();
  size_t rank = sliced.getType().getShape().size();
  if (op.getOrigin().size() != rank)
    return report(op.emitOpError() << "expected " << rank << " positions in the origin because " << name
                                   << " has " << rank << " axes, but got " << op.getOrigin().size());
  if (!op.getGatheredAxes().empty()) {
    if (llvm::failed(verifyGatheredAxes(op, sliced, name)))
      return llvm::failure();
  } else if (slice.getShape().size() != rank)
    return report(op.emitOpError() << "expected a slice of " << rank << " extents because " << name << " has "
                                   << rank << " axes (1 for an axis that the tile does not have), but got "
                                   << slice.getShape().size());
  if (mlir::Type element = sliced.getType().getElementType(); slice.getElementType() != element)
    return report(op.emitOpError() << "expected a slice of " << element << " because " << name
                                   << " is, but got " << slice.getElementType());
  if (op.getFill() && op.getFill().getType() != slice.getElementType())
    return report(op.emitOpError() << "expected a fill value of " << slice.getElementType() << " because "
                                   << name << " is, but got " << op.getFill().getType());
  if (bool(op.getLimit()) != op.getLimitedAxis().has_value())
    return report(op.emitOpError() << "expected a limit and the axis that it is along, or neither, but got "
                                   << (op.getLimit() ? "only the limit" : "only the axis"));
  if (int64_t axis = op.getLimitedAxis().value_or(0); axis < 0 || axis >= int64_t(rank))
    return report(op.emitOpError() << "expected a limit along axis 0 to " << rank - 1 << " because " << name
                                   << " has " << rank << " axes, but got axis " << axis);
  return llvm::success();
}

} // namespace tlc::tile
