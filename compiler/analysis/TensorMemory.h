// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a target has what a kernel does in tensor memory.
#pragma once

#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"

namespace tlc::tile {

/// Fails, with a diagnostic, where there is no tensor memory, or no instruction for a product in it.
llvm::LogicalResult checkTensorMemory(KernelOp kernel, const Target &target);

} // namespace tlc::tile
