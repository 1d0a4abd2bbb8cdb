// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where threads wait for each other: fences go before it, and no turn may last over it.
#pragma once

#include "mlir/IR/Operation.h"

namespace tlc::tile {

/// Whether all threads of the role, of the block outside roles, meet before the operation does anything, and
/// what they did before is over then: a barrier, or data that goes through scratch memory between two.
bool meetsFirst(mlir::Operation *op);
/// Whether they meet somewhere in it.
bool meets(mlir::Operation *op);

} // namespace tlc::tile
