// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which values the blocks of a cluster have in common: what they decide, all decide alike.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/DenseMap.h"

namespace tlc::tile {

/// Which values are the same in all blocks of a cluster.
class ClusterUniformity {
public:
  explicit ClusterUniformity(KernelOp kernel) : cluster(kernel.getCluster()) {}

  bool isUniform(mlir::Value value);
  bool areUniform(mlir::ValueRange values) {
    return llvm::all_of(values, [&](mlir::Value value) { return isUniform(value); });
  }

private:
  bool decide(mlir::Value value);

  static constexpr int maxDepth = 256; ///< of operations whose operands are asked for

  int64_t cluster;
  llvm::DenseMap<mlir::Value, bool> answers;
  int depth = 0;
};

} // namespace tlc::tile
