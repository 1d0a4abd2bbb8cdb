// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the author insists on (`tile.require`), and what becomes of a choice that falls short of it.
#pragma once

#include "compiler/analysis/Remarks.h"
#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// The kernel's first requirement of that kind, or null.
RequireOp findRequirement(KernelOp kernel, Requirement what);

/// Says that something less than `what` was chosen: an error if the author requires it, else a remark if the
/// target has it.
llvm::LogicalResult reportMissed(mlir::Operation *op, Requirement what, bool isAvailable, RemarkId id,
                                 const llvm::Twine &message);

} // namespace tlc::tile
