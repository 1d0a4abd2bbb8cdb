// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a window stands in the tensor that it moves over (tile.windows).
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// Where the first tap of a window is: the image, and the coordinate along each inner axis. i32.
struct FirstTap {
  Value image;
  llvm::SmallVector<Value> at;
};
FirstTap firstTap(Emitter &b, const WindowedSource &source, Value position);

/// Makes of coordinates of windows, innermost first, those of the first tap in the source, as a tensor map in
/// im2col mode wants them, and returns the offsets from there to the tap, i16. What is not inside becomes an
/// image that there is not, of which the TMA reads zeros.
llvm::SmallVector<Value> toIm2col(Emitter &b, const Slice &slice, llvm::SmallVectorImpl<Value> &coordinates);

} // namespace tlc::lowering
