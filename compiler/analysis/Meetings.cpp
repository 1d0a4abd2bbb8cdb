// SPDX-License-Identifier: Apache-2.0
/// \file
/// As the lowering does it.
#include "compiler/analysis/Meetings.h"

#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;

bool tile::meetsFirst(Operation *op) { return synchronisationOf(op).meetsFirst; }

bool tile::meets(Operation *op) {
  Synchronisation order = synchronisationOf(op);
  return order.meetsFirst || order.meetsWithin;
}
