// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensor maps of a slice, and where its boxes begin.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

#include <string>

namespace tlc::lowering {

/// Elements of 16 bytes: along the innermost axis boxes begin at multiples of them (or the
/// instruction is illegal), and what the TMA stores ends at one.
int64_t granuleElements(const GlobalTensor &tensor, const Target &target);

/// Why no tensor map has the slice's limit; empty if one has, or if there is none.
std::string limitProblem(const Slice &slice, const Target &target);

/// Where a copy finds its boxes: the tensor map and, of a limited slice, the one for boxes that end
/// less than their own rows after the tensor's begin. See TensorMapRecipe.
class BoxMaps {
public:
  BoxMaps(KernelLowering &k, const Slice &slice, Shape box, Swizzle swizzle);

  /// The map of the box that begins at these coordinates of the tensor, innermost first, which become its
  /// own.
  mlir::Value place(llvm::SmallVectorImpl<mlir::Value> &coordinates);

private:
  int64_t rows() const { return box[size_t(slice.limitedAxis)]; }
  /// Whether some of the box is inside the tensor along the other axes; null if that is known.
  mlir::Value isInsideElsewhere(llvm::ArrayRef<mlir::Value> coordinates);

  Emitter &b;
  const Slice &slice;
  Shape box;
  mlir::Value atTensor, before;
};

} // namespace tlc::lowering
