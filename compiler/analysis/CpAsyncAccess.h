// SPDX-License-Identifier: Apache-2.0
/// \file
/// What cp.async can copy from a tensor to shared memory, and why not the rest.
#pragma once

#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"

#include <string>

namespace tlc::tile {

/// Why threads cannot fill this shared tile from the slice by cp.async; empty if they can. Once the tile has
/// a layout, that has a say, too.
std::string cpAsyncProblem(SliceOp slice, SharedType shared, const Target &target);
/// The same of a copy with the atom cp.async; empty for any other.
std::string cpAsyncProblem(CopyOp copy, const Target &target);

} // namespace tlc::tile
