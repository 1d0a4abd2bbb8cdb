// SPDX-License-Identifier: Apache-2.0
/// \file
/// In which order a shared buffer keeps the elements of its rows.
#pragma once

#include "dialects/layout/SharedLayout.h"
#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// The buffer that a view shows; null if it is not in sight.
AllocSharedOp bufferOf(mlir::Value view);

/// The order of elements that all who fill and read the buffer want, but those that take any; the natural one
/// if they do not agree. The tile may have too few elements for it.
RowOrder rowOrderOf(AllocSharedOp buffer);

} // namespace tlc::tile
