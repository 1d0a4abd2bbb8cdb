// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stores of fragments by the tensor memory accelerator.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// Through the staging buffer, panel by panel.
LogicalResult storeByTma(KernelLowering &k, tile::StoreOp op);

} // namespace tlc::lowering
