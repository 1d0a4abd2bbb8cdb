// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments from role to role.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// Each operation that one role executes says which. Afterwards each finds the fragments that it uses in its
/// own role: those of other roles come through shared tiles, and what every thread can make for itself each
/// role does. `fallback` has the fragments of which no operation says whose they are. The results fill the
/// tiles.
llvm::SmallVector<StoreOp> handOverFragments(KernelOp kernel, llvm::StringRef fallback);

} // namespace tlc::tile
