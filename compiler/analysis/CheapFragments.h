// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments that every thread can make for itself, in whichever layout.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// Whether the operation needs no fragment to make one: a constant, a number everywhere, coordinates.
bool makesFragment(mlir::Operation *op);

/// Whether the fragment follows from such ones by a few elementwise operations and broadcasts, so that
/// computing it again costs less than moving it between threads.
bool isCheapFragment(mlir::Value value);

} // namespace tlc::tile
