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
const std::set<std::string> notInPhaseInput = {"tile.acquire",       "tile.advance",
                                               "tile.alloc_ring",    "tile.await",
                                               "tile.await_copies",  "tile.await_stores",
                                               "tile.columns",       "tile.reclaim",
                                               "tile.commit_copies", "tile.convert_layout",
                                               "tile.copy_async",    "tile.cursor",
                                               "tile.expect",        "tile.proxy_fence",
                                               "tile.publish",       "tile.release",
                                               "tile.rematerialise", "tile.reserve_tensor_memory",
                                               "tile.sync",          "tile.tensor_memory_fence"};
const std::set<std::string> frames = {"tile.kernel", "tile.role"};
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

TEST_CASE("every operation of other dialects that the language makes has a rule", "[evaluator][unit]") {
  for (const char *name :
       {"arith.addf",     "arith.addi",    "arith.andi",  "arith.ceildivsi",  "arith.cmpf",    "arith.cmpi",
        "arith.constant", "arith.divf",    "arith.divsi", "arith.index_cast", "arith.maxnumf", "arith.maxsi",
        "arith.minnumf",  "arith.minsi",   "arith.mulf",  "arith.muli",       "arith.negf",    "arith.ori",
        "arith.remsi",    "arith.select",  "arith.subf",  "arith.subi",       "arith.xori",    "math.absf",
        "math.ceil",      "math.exp",      "math.exp2",   "math.floor",       "math.log",      "math.log2",
        "math.atan",      "math.copysign", "math.cos",    "math.erf",         "math.expm1",    "math.fma",
        "math.log10",     "math.log1p",    "math.powf",   "math.roundeven",   "math.sin",      "math.tan",
        "math.trunc",     "math.rsqrt",    "math.sqrt",   "math.tanh",        "scf.for",       "scf.if",
        "scf.yield"}) {
    INFO(name);
    CHECK(hasRule(name));
  }
}
