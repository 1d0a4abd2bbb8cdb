// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which sums in tensor memory are computed with by themselves.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace tlc::tile {

/// Whether nothing but fragments, tiles and tensors tells one part of the program from another: no counter,
/// atomic operation or cluster orders what it does.
bool isOrderedByDataAlone(KernelOp kernel);

/// Groups of sums by tcgen05 of a kernel without roles: no fragment is computed from sums of two groups, no
/// branch on a fragment of one gives a fragment of the other, and of a tensor that one writes the other
/// accesses other elements. What each thread can make is of none. All are one group if the kernel is not
/// ordered by data alone.
class IndependentSums {
public:
  explicit IndependentSums(KernelOp kernel);

  int64_t count() const { return areOrdered ? 1 : int64_t(groups.size()); }
  /// The group that the operation computes with, from 0 in the order of the program; nothing for others.
  std::optional<int64_t> of(mlir::Operation *op) const;

private:
  bool shareTensors(KernelOp kernel) const;
  void connect(mlir::Operation *op);
  void join(mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> valuesOf(mlir::Operation *op) const;

  bool areOrdered = false;                     ///< by more than fragments
  llvm::DenseSet<mlir::Value> filled;          ///< memory, by threads with fragments or more than once
  llvm::EquivalenceClasses<void *> connected;  ///< fragments, and such memory
  llvm::SmallDenseMap<void *, int64_t> groups; ///< by the leader of what is connected
};

/// How many roles compute with the kernel's sums: two if there are two groups, otherwise one.
int64_t rolesOfSums(const IndependentSums &sums);

} // namespace tlc::tile
