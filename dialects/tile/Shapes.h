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

/// `128x64`, for messages.
std::string toText(llvm::ArrayRef<int64_t> extents);

} // namespace tlc::tile
