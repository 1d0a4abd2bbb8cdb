// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operation of prints and checks.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// What reports write. Nothing reads it on the device, so that no access is ordered with them.
struct ReportBuffer : mlir::SideEffects::Resource::Base<ReportBuffer> {
  llvm::StringRef getName() final { return "ReportBuffer"; }
};

} // namespace tlc::tile

#define GET_OP_CLASSES
#include "dialects/tile/OpsReports.h.inc"

namespace tlc::tile {

/// Whether the operation, with all that its regions hold, has no effect on memory but reports, so that it has
/// no order with others: a print, or a branch with prints and checks.
bool onlyReports(mlir::Operation *op);

/// Where reports say that the operation is: "conv.cpp:41:7".
std::string sourcePlaceOf(mlir::Operation *op);

} // namespace tlc::tile
