// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations of the tile dialect.
#pragma once

#include "dialects/tile/Interfaces.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/tile/Ops.h.inc"

namespace tlc::tile {
/// The shared tile that a view, transposed or of some rows, is of; null for other operations.
mlir::Value viewedTile(mlir::Operation *op);

/// What is done with a truth value in which warps differ: branches on it, choices between fragments by it,
/// and anything else that uses it; also where arithmetic combines it with others.
llvm::SmallVector<mlir::Operation *> decisionsBy(mlir::Value truth);
} // namespace tlc::tile
