// SPDX-License-Identifier: Apache-2.0
/// \file
/// What cp.async can copy from a tensor to shared memory, and why not the rest.
#pragma once

#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"

#include <string>

namespace tlc::tile {

/// Why threads cannot fill this shared tile from the slice by cp.async; empty if they can.
std::string cpAsyncProblem(SliceOp slice, SharedType shared, const Target &target);

} // namespace tlc::tile
