// SPDX-License-Identifier: Apache-2.0
/// \file
/// Before which releases of slots the threads must meet. One thread arrives for its warpgroup (its role, if
/// that is smaller) and says that no thread will read the slot, and none still has to see that it was full:
/// one that is late would find the barrier two phases further and wait for ever.
#pragma once

#include "compiler/analysis/RingBuffers.h"

namespace tlc::tile {

class ReleaseMeetings {
public:
  explicit ReleaseMeetings(KernelOp kernel);

  /// Whether, on some way to the release, threads have read slots of its ring or waited for one since they
  /// last met. A product that was started after the wait, and is complete, is as good as a meeting for the
  /// wait: all warps of a warpgroup start it. It says nothing of reads.
  bool isNeeded(ReleaseOp release) const { return needed.contains(release); }

private:
  llvm::DenseSet<mlir::Operation *> needed;
};

} // namespace tlc::tile
