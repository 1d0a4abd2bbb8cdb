// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards values that are cheap to compute do not occupy registers in and around loops whose fragments
/// need them all.

#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_REMATERIALISEVALUES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Whether fragments that the loop carries leave no registers for what is only needed around it: an
/// accumulator of 64 x 256, which takes 128, and a factor of 64 x 64 beside it.
bool fillsRegisters(scf::ForOp loop) {
  constexpr int64_t manyRegisters = 128 + 16;
  int64_t bits = 0;
  for (Value fragment : loop.getResults())
    if (isa<RankedTensorType>(fragment.getType()))
      bits += layoutOf(fragment).registersPerThread() * elementBitsOf(fragment);
  return bits >= manyRegisters * registerBits;
}

struct RematerialiseValues : impl::RematerialiseValuesBase<RematerialiseValues> {
  void runOnOperation() override {
    llvm::SetVector<Operation *> full, around; // loops that fill registers, and those that contain one
    WalkResult walked = getOperation().walk([&](scf::ForOp loop) {
      for (Type carried : loop.getResultTypes())
        if (auto fragment = dyn_cast<RankedTensorType>(carried); fragment && !fragment.getEncoding()) {
          loop.emitError("expected a layout of each fragment that the loop carries, but got ")
              << fragment << "; run 'tile-infer-layouts' before 'tile-rematerialise-values'";
          return WalkResult::interrupt();
        }
      if (fillsRegisters(loop))
        full.insert(loop);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    for (Operation *loop : full)
      for (auto outer = loop->getParentOfType<scf::ForOp>(); outer;
           outer = outer->getParentOfType<scf::ForOp>())
        around.insert(outer);
    for (Operation *outer : around) {
      auto builder = OpBuilder::atBlockBegin(cast<scf::ForOp>(outer).getBody());
      RematerialiseOp::create(builder, outer->getLoc());
    }
    for (Operation *loop : full)
      if (loop->getParentOfType<scf::ForOp>()) {
        OpBuilder builder(loop->getContext());
        builder.setInsertionPointAfter(loop);
        // A loop that follows reads the same tiles by the same descriptors.
        bool isLast = llvm::none_of(llvm::make_range(std::next(loop->getIterator()), loop->getBlock()->end()),
                                    [&](Operation &next) { return full.contains(&next); });
        RematerialiseOp::create(builder, loop->getLoc(), /*warp=*/isLast);
      }
  }
};

} // namespace
} // namespace tlc::tile
