// SPDX-License-Identifier: Apache-2.0
/// \file
/// As the lowering does it.
#include "compiler/analysis/Meetings.h"

#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;

bool tile::meetsFirst(Operation *op) {
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    return bool(convert.getScratch());
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return bool(reduce.getScratch());
  return isa<SyncOp>(op);
}

bool tile::meets(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op); // by the TMA one thread makes it, and the others wait
  return meetsFirst(op) || (copy && copy.getAtom() == CopyAtom::tma);
}
