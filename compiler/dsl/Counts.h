// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counters in global memory, which order what blocks do to tensors: elements of a tensor of i32, usually a
/// workspace that begins with zeros. All threads of the role, or of the block, call these functions together.
/// Elements outside the tensor count nothing.
#pragma once

#include "compiler/dsl/Handles.h"

namespace tlc::dsl::inline v1 {

/// Adds `by` once all earlier operations of these threads are complete. A block that sees the new count by
/// `waitFor` or `take` sees what they have written, and may change what they have read. (red.release.gpu)
void announce(const Global &counts, const std::vector<Index> &position, const Index &by = 1,
              Loc loc = Loc::current());

/// Waits until the count is at least `least`. A block may only wait for announcements of blocks that have
/// certainly started, such as those that `take` gave smaller numbers: others may start only when this one
/// ends. (ld.acquire.gpu)
void waitFor(const Global &counts, const std::vector<Index> &position, const Index &least,
             Loc loc = Loc::current());

/// Adds 1 and returns the previous count: the same number to all calling threads, and a different one to each
/// call, in ascending order. Orders accesses like `announce` and like `waitFor`. (atom.acq_rel.gpu)
Index take(const Global &counts, const std::vector<Index> &position, Loc loc = Loc::current());

} // namespace tlc::dsl::inline v1
