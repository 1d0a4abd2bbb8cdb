// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes the program of one role from the program of all warps.
#pragma once

#include "compiler/analysis/CopyGroups.h"

#include "llvm/ADT/DenseMap.h"

namespace tlc::tile {

/// Those of the plan.
using Channels = llvm::DenseMap<const CopyGroup *, mlir::Value>;

/// Writes the planned role's version of `ops`, which are at the kernel's top level, at the builder's place.
/// The buffers that channels hand over have slots already.
void writeRole(llvm::StringRef role, const CopyGroups &groups, const Channels &channels,
               llvm::ArrayRef<mlir::Operation *> ops, mlir::OpBuilder builder);

} // namespace tlc::tile
