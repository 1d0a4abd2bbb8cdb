// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every remark of the compiler: its id, which docs/remarks.md explains.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

#include <array>

namespace tlc::tile {

enum class RemarkId : uint8_t {
  copyNotAhead,
  copyWithoutTma,
  fewerStages,
  gemmWithoutWgmma,
  hintWithoutEffect,
  layoutConversion,
  notWarpSpecialised,
  paddedTile,
  registerSpills,
  replicatedElements,
  scatteredElements,
  sequentialProducts,
  storeWithoutRole,
  storeWithoutTma,
  withoutTurns,
};
/// By `RemarkId`.
inline constexpr std::array<llvm::StringLiteral, 15> remarkIds = {
    "copy-not-ahead",      "copy-without-tma",    "fewer-stages",         "gemm-without-wgmma",
    "hint-without-effect", "layout-conversion",   "not-warp-specialised", "padded-tile",
    "register-spills",     "replicated-elements", "scattered-elements",   "sequential-products",
    "store-without-role",  "store-without-tma",   "without-turns"};

constexpr llvm::StringRef toString(RemarkId id) { return remarkIds[static_cast<size_t>(id)]; }

/// A remark about what the operation or the place misses; the text is to follow.
mlir::InFlightDiagnostic emitRemark(mlir::Operation *op, RemarkId id);
mlir::InFlightDiagnostic emitRemark(mlir::Location location, RemarkId id);

} // namespace tlc::tile
