// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stores by the tensor memory accelerator.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// From shared memory to a slice; done when the tile may be written again.
LogicalResult copyByTma(KernelLowering &k, tile::CopyOp op);
/// A fragment, through the staging buffer, panel by panel.
LogicalResult storeByTma(KernelLowering &k, tile::StoreOp op);

} // namespace tlc::lowering
