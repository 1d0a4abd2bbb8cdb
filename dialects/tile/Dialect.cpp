// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tile dialect: registration and the attributes it hangs on other dialects' operations.
#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#include "dialects/tile/Dialect.cpp.inc"

void TileDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/tile/Ops.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/tile/Ops.cpp.inc"
