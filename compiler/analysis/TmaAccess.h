// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the TMA can move between a tensor and shared memory, and why not the rest.
#pragma once

#include "dialects/layout/SharedLayout.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"

#include <string>

namespace tlc::tile {

/// The layout that a shared tile will have.
SharedLayout preferredLayout(SharedType type);
/// The same of a view of columns: that of the tile, which may have more.
SharedLayout preferredLayout(mlir::TypedValue<SharedType> tile);

/// Why the TMA cannot move this part of a tile; empty if it can, or if it is a whole one.
std::string partProblem(mlir::TypedValue<SharedType> tile);

/// Whether the last axis of a tile is the last one of the slice, extents of 1 aside.
bool hasRowsAlongLastAxis(SliceOp slice, llvm::ArrayRef<int64_t> tile);

/// Why the TMA cannot load this slice of windows; empty if it can, or if the slice is none of windows.
std::string windowProblem(SliceOp slice, const Target &target);
/// Why the TMA cannot move between this slice and a shared tile; empty if it can.
std::string tmaProblem(SliceOp slice, SharedType shared, const Target &target);
/// Why the TMA cannot fill this shared tile from the slice; empty if it can.
std::string loadProblem(SliceOp slice, SharedType shared, const Target &target);
/// Why the TMA cannot make this copy from a tensor to shared memory; empty if it can.
std::string loadProblem(CopyOp copy, const Target &target);
/// Why the TMA cannot store this shared tile to the slice; empty if it can.
std::string storeProblem(SharedType shared, SliceOp slice, const Target &target);

} // namespace tlc::tile
