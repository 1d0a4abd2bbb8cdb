// SPDX-License-Identifier: Apache-2.0
/// \file
/// The proof that nothing changes what a product in flight uses.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// Fails, with a diagnostic where it happens, if on some path between a `tile.gemm_async` and the
/// `tile.gemm_wait` that completes it
/// - the registers of its left factor are written, by the operation that computes the factor or by a loop or
///   branch that moves it,
/// - shared memory of a factor is written: by a store or copy, or as scratch or staging memory,
/// - its accumulator is read,
/// - the slot of a factor is released.
/// Of the products started after it, as many count as every path has. In roles by hand it is the author's
/// mistake, in others an internal error.
mlir::LogicalResult verifyProductsInFlight(KernelOp kernel);

} // namespace tlc::tile
