// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every loop ends, whatever its step is: steps that are read from memory may be below 1.
#include "compiler/analysis/PositionRanges.h"
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Reports.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tlc::tile {
#define GEN_PASS_DEF_CHECKSTEPS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

void check(scf::ForOp loop, bool mayBeBelowOne) {
  ImplicitLocOpBuilder builder(loop.getLoc(), loop);
  Value from = loop.getLowerBound(), to = loop.getUpperBound(), step = loop.getStep();
  Value one = arith::ConstantIndexOp::create(builder, 1);
  Value isForward = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, step, one);
  if (mayBeBelowOne) {
    Value isEmpty = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, from, to);
    Value number = arith::IndexCastOp::create(builder, builder.getI32Type(), step);
    Value holds = arith::OrIOp::create(builder, isForward, isEmpty);
    ReportOp::create(builder, holds, builder.getStringAttr("expected a step of at least 1, but got {}"),
                     ValueRange(number));
  }
  loop.setUpperBound(arith::SelectOp::create(builder, isForward, to, from));
}

struct CheckSteps : impl::CheckStepsBase<CheckSteps> {
  void runOnOperation() override {
    PositionRanges ranges;
    SmallVector<std::pair<scf::ForOp, bool>> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop.getStep().getType().isIndex() && !ranges.reachOf(loop, 1))
        loops.push_back({loop, ranges.of(loop.getStep()).min < 1});
    });
    for (auto [loop, mayBeBelowOne] : loops)
      check(loop, mayBeBelowOne);
  }
};

} // namespace
} // namespace tlc::tile
