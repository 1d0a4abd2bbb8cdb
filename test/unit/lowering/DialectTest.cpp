// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every operation of the tile dialect has to say of itself.
#include "dialects/tile/Tile.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace tlc::tile;

TEST_CASE("operations of the tile dialect with effects say what they access") {
  MLIRContext context;
  context.loadDialect<TileDialect>();
  size_t count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (!isa<TileDialect>(name.getDialect()))
      continue;
    ++count;
    INFO(name.getStringRef().str());
    bool isPure = name.hasTrait<OpTrait::AlwaysSpeculatableImplTrait>();
    CHECK((isPure || name.hasInterface<AccessOpInterface>()));
  }
  CHECK(count > 40);
}

TEST_CASE("what an operation says of itself goes together") {
  MLIRContext context;
  context.loadDialect<TileDialect>();
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    INFO(name.getStringRef().str());
    if (name.hasInterface<InFlightOpInterface>() || name.hasInterface<CompletionOpInterface>())
      CHECK(name.hasInterface<AccessOpInterface>());
    // A product with a choice of instructions adds in registers, one without it in memory.
    bool addsInRegisters = name.hasInterface<ProductOpInterface>() && name.hasInterface<AtomOpInterface>();
    if (name.hasInterface<ScratchOpInterface>() || addsInRegisters)
      CHECK(name.hasInterface<FragmentOpInterface>());
    else if (name.hasInterface<ProductOpInterface>())
      CHECK(name.hasInterface<InFlightOpInterface>());
  }
}
