// SPDX-License-Identifier: Apache-2.0
/// \file
/// An operation is finished when the evaluator knows it.
#include "dialects/tile/Tile.h"
#include "mlir/IR/MLIRContext.h"
#include "test/unit/evaluator/Evaluated.h"

#include <set>

using namespace tlc;
using namespace tlc::evaluator;

namespace {
/// Made by passes of later phases, or the frames that rules of others look into.
const std::set<std::string> notInPhaseInput = {"tile.convert_layout"}, frames = {"tile.kernel", "tile.role"};
} // namespace

TEST_CASE("every operation of the tile dialect that a program can have has a rule", "[evaluator][unit]") {
  mlir::MLIRContext context;
  context.loadDialect<tile::TileDialect>();
  size_t known = 0;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    std::string text = name.getStringRef().str();
    if (!text.starts_with("tile.") || notInPhaseInput.contains(text) || frames.contains(text))
      continue;
    INFO(text);
    CHECK(hasRule(text));
    ++known;
  }
  CHECK(known > 40);
  for (const std::string &name : notInPhaseInput)
    CHECK(!hasRule(name));
}
