// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which role has a fragment.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace tlc::tile {

/// Roles of the fragments of a kernel whose operations have theirs. What a loop carries, and what comes out
/// of a branch, is one role's: that of the operation that computes it last in the loop, or in the first arm
/// that computes it.
class FragmentOwners {
public:
  /// `fallback` has what no operation computes from others: constants that a loop carries.
  explicit FragmentOwners(llvm::StringRef fallback) : fallback(fallback) {}

  llvm::StringRef of(mlir::Value fragment) const;

private:
  llvm::StringRef find(mlir::Value fragment, llvm::SmallPtrSetImpl<void *> &seen) const;

  llvm::StringRef fallback;
};

} // namespace tlc::tile
