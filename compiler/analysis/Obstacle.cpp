// SPDX-License-Identifier: Apache-2.0
#include "compiler/analysis/Obstacle.h"

#include "dialects/tile/Names.h"
#include "dialects/tile/Tile.h"

std::string tlc::tile::Obstacle::reasonWithPlace() const {
  std::string place = mlir::isa<KernelOp>(culprit) ? "" : placeOf(culprit);
  return place.empty() ? reason : reason + " (" + llvm::StringRef(place).drop_front(4).str() + ")";
}
