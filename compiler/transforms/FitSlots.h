// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many slots shared memory holds, and giving them to buffers.
#pragma once

#include "compiler/analysis/CopyGroups.h"

namespace tlc::tile {

/// Reduces the groups' slots to what shared memory holds; a diagnostic if it does not hold one of each.
llvm::LogicalResult fitSlots(KernelOp kernel, CopyGroups &copies);

/// Whether shared memory holds all slots that the groups ask for if a buffer of so many bytes, with a ring of
/// one slot, takes the place of another one.
bool fitsInstead(KernelOp kernel, const CopyGroups &copies, AllocSharedOp buffer, int64_t bytes);

/// Makes the buffer one of so many slots. Those who read it have yet to ask for one.
void giveSlots(AllocSharedOp buffer, int64_t slots);

} // namespace tlc::tile
