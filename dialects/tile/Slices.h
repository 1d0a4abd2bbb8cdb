// SPDX-License-Identifier: Apache-2.0
/// \file
/// What slices are made of.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// What the program declares about the tensor of a slice; null if that is no tensor, which the verifier
/// refuses.
program::TensorAttr tensorOf(SliceOp slice);

} // namespace tlc::tile
