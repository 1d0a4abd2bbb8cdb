// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts in global memory, by which blocks order what they do to tensors: elements of a tensor of i32, as a
/// rule a workspace that begins with zeros. The executing threads, those of the role or of the block, call
/// these together. Elements outside the tensor count nothing.
#pragma once

#include "compiler/dsl/Handles.h"

namespace tlc::dsl::inline v1 {

/// Adds `by`, once what these threads did before is complete: a block that learns of it by `waitFor` or
/// `take` sees what they have written, and may change what they have read. (red.release.gpu)
void announce(const Global &counts, const std::vector<Index> &position, const Index &by = 1,
              Loc loc = Loc::current());

/// Waits until the count is at least `least`. Only what blocks announce that have started for sure may be
/// waited for: those that `take` gave smaller numbers. Others may have to wait for this one to end.
/// (ld.acquire.gpu)
void waitFor(const Global &counts, const std::vector<Index> &position, const Index &least,
             Loc loc = Loc::current());

/// Adds 1 and gives what the count was before, the same to these threads and another number to all others,
/// smaller ones first. As `announce` it says that what these threads did before is complete, and as `waitFor`
/// it tells what others have announced. (atom.acq_rel.gpu)
Index take(const Global &counts, const std::vector<Index> &position, Loc loc = Loc::current());

} // namespace tlc::dsl::inline v1
