// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses of tensors, and which of them another one has to wait for.
#pragma once

#include "compiler/analysis/BoxRelation.h"

#include "llvm/ADT/SmallVector.h"

namespace tlc::tile {

struct TensorAccess {
  mlir::Operation *op = nullptr;
  SliceOp slice;
  AccessKind kind = AccessKind::read;
  bool asynchronous = false;   ///< by another than the generic proxy
  bool mayBeGeneric = false;   ///< or by the generic one, if that cannot
  mlir::Value fragment = {};   ///< whose threads access each their elements, or null
  mlir::scf::ForOp round = {}; ///< the outermost loop of which it was an earlier round

  bool operator==(const TensorAccess &) const = default;
};

/// Accesses that came earlier in a walk in program order, each once.
class TensorAccesses {
public:
  void add(const TensorAccess &access);
  void add(const TensorAccesses &other);
  void clear() { accesses.clear(); }
  /// The walk comes back to the begin of the loop's body.
  void nextRound(mlir::scf::ForOp loop);

  llvm::ArrayRef<TensorAccess> all() const { return accesses; }

private:
  llvm::SmallVector<TensorAccess> accesses;
};

/// Whether one writes what the other may access, too. Additions are ordered among themselves.
bool mayConflict(const TensorAccess &earlier, const TensorAccess &later);
/// Whether then other threads do it, or the order of one thread is not that in memory.
bool needsBarrier(const TensorAccess &earlier, const TensorAccess &later);

/// What the operation itself reads, writes and adds to of tensors.
llvm::SmallVector<TensorAccess, 2> tensorAccessesOf(mlir::Operation *op);
llvm::SmallVector<TensorAccess> tensorAccessesIn(mlir::Operation *root);

/// Whether a later access in `root`, which may be this one in a later round, may meet what this one writes.
bool isMetLater(const TensorAccess &access, mlir::Operation *root);

} // namespace tlc::tile
