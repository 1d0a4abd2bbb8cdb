// SPDX-License-Identifier: Apache-2.0
/// \file
/// Changes of layout without shared memory.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// The fragment in another layout, by register moves and shuffles; null if elements move
/// between warps.
Value relayout(KernelLowering &k, Value value, const FragmentLayout &from, const FragmentLayout &to,
               llvm::ArrayRef<int64_t> shape);

} // namespace tlc::lowering
