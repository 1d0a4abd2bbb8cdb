// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transfers by the tensor memory accelerator, which one thread starts.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// Loads a slice, counting on `barrier`; with `multicast` this block's share of it, for
/// the whole cluster. Executed by one thread.
LogicalResult emitTmaLoad(KernelLowering &k, Operation *op, const Slice &slice, const SharedTile &tile,
                          Value barrier, bool multicast);
LogicalResult copyByTma(KernelLowering &k, tile::CopyOp op);
/// Through the staging buffer, panel by panel.
LogicalResult storeByTma(KernelLowering &k, tile::StoreOp op);

} // namespace tlc::lowering
