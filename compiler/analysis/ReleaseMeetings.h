// SPDX-License-Identifier: Apache-2.0
/// \file
/// Before which releases of slots the threads must meet. One thread arrives for its warpgroup (its role, if
/// that is smaller) and says that no thread will read the slot, and none still has to see that it was full:
/// one that is late would find the barrier two phases further and wait for ever.
#pragma once

#include "compiler/analysis/RingBuffers.h"

namespace tlc::tile {

/// The releases, in the order of the program, to which some way leads on which threads have read slots of the
/// ring or waited for one since they last met. A product that was started after the wait, and is complete, is
/// as good as a meeting for the wait: all warps of a warpgroup start it. It says nothing of reads. Where
/// blocks go on from what others announce, whoever announces may have learned by a ring that tensors are read
/// and written, so that accesses of these count like reads of slots. A role that is one thread needs no
/// meetings.
llvm::SmallVector<ReleaseOp> releasesThatNeedMeetings(KernelOp kernel);

} // namespace tlc::tile
