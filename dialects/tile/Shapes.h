// SPDX-License-Identifier: Apache-2.0
/// \file
/// Extents of tiles, whatever holds them: fragments, shared buffers, slices, global tensors.
#pragma once

#include "mlir/IR/Types.h"

#include <string>

namespace tlc::tile {

/// Extents of a fragment, shared buffer, slice or global tensor.
llvm::ArrayRef<int64_t> extentsOf(mlir::Type type);
mlir::Type elementTypeOf(mlir::Type type);

/// Extents without those of 1, which a slice needs for the tensor's rank and a tile does not have.
llvm::SmallVector<int64_t> withoutUnitExtents(llvm::ArrayRef<int64_t> extents);
/// The same tile, extents of 1 aside.
bool sameTile(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
int64_t numElements(llvm::ArrayRef<int64_t> extents);

/// The axis along which elements of the memory lie side by side: the last one, of a transposed view the one
/// before.
int64_t contiguousAxisOf(mlir::Type memory);
/// The axis of the same tile with the extents `to` that `axis` of `from`, whose extent is not 1, is.
int64_t matchingAxis(llvm::ArrayRef<int64_t> from, int64_t axis, llvm::ArrayRef<int64_t> to);
/// Why memory cannot have these extents along that axis, of `what`; empty if it can: elements that share a
/// byte come together.
std::string packingProblem(llvm::StringRef what, llvm::ArrayRef<int64_t> extents, int64_t axis,
                           mlir::Type element);

/// `128x64`, for messages.
std::string toText(llvm::ArrayRef<int64_t> extents);

} // namespace tlc::tile
