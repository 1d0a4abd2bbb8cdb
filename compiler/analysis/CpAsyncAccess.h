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
std::string cpAsyncProblem(CopyOp copy, const Target &target);

/// Whether cp.async makes the copy: it has that atom, and the tile's layout keeps together what cp.async
/// copies, or the announcement of the tile tells of nothing else.
bool isByCpAsync(CopyOp copy, const Target &target);

/// The announcement of what the copy writes, if arrivals of copies announce it; else null.
PublishOp announcementOf(CopyOp copy);

} // namespace tlc::tile
