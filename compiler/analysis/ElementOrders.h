// SPDX-License-Identifier: Apache-2.0
/// \file
/// In which order a shared buffer keeps the elements of its rows.
#pragma once

#include "dialects/layout/SharedLayout.h"
#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// The buffer that a view shows; null if it is not in sight.
AllocSharedOp bufferOf(mlir::Value view);

/// Interleaved where that spares a product the exchange of its left factor between threads: the buffer is the
/// right factor of products whose left one is in registers, in elements of 8 bits, or comes from or goes to
/// a tensor with that order, and nothing that knows only the natural order fills or reads it.
ElementOrder elementOrder(AllocSharedOp buffer);

} // namespace tlc::tile
