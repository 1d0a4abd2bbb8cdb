// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pass: every tile kernel becomes the program of one of its threads.
#include "compiler/lowering/Passes.h"
#include "compiler/lowering/TileToSimt/Lowering.h"
#include "mlir/IR/BuiltinOps.h"

namespace tlc {
#define GEN_PASS_DEF_TILETOSIMT
#include "compiler/lowering/Passes.h.inc"
} // namespace tlc

using namespace mlir;
using namespace tlc;

namespace {
struct TileToSimt : tlc::impl::TileToSimtBase<TileToSimt> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!program::findTarget(module)) {
      emitError(module.getLoc()) << "expected '" << program::ProgramDialect::targetAttrName
                                 << "' on the module because instructions depend on the target, but got none";
      return signalPassFailure();
    }
    for (tile::KernelOp kernel : llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
      lowering::KernelLowering lowered(kernel);
      bool ok = succeeded(lowered.run());
      kernel.erase();
      if (!ok) {
        lowered.result().erase();
        return signalPassFailure();
      }
    }
  }
};
} // namespace
