// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards no conversion is left of a value that is as cheap to make in the wanted
/// layout, nor of another conversion.

#include "compiler/transforms/Passes.h"

namespace tlc::tile {
#define GEN_PASS_DEF_FOLDRELAYOUTS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// The same value made directly in the wanted layout, or null.
Value remade(ConvertLayoutOp convert, OpBuilder &builder) {
  Operation *source = convert.getSource().getDefiningOp();
  if (!source)
    return {};
  Type wanted = convert.getResult().getType();
  if (auto earlier = dyn_cast<ConvertLayoutOp>(source)) {
    if (earlier.getSource().getType() == wanted)
      return earlier.getSource();
    return ConvertLayoutOp::create(builder, convert.getLoc(), wanted, earlier.getSource(), Value());
  }
  if (isa<SplatOp, CoordinatesOp>(source)) {
    Operation *copy = builder.clone(*source);
    copy->getResult(0).setType(wanted);
    return copy->getResult(0);
  }
  return {};
}

struct FoldRelayouts : impl::FoldRelayoutsBase<FoldRelayouts> {
  void runOnOperation() override {
    getOperation().walk([](ConvertLayoutOp convert) {
      OpBuilder builder(convert);
      Operation *source = convert.getSource().getDefiningOp();
      Value value = convert.getSource().getType() == convert.getResult().getType() ? convert.getSource()
                                                                                   : remade(convert, builder);
      if (!value)
        return;
      convert.getResult().replaceAllUsesWith(value);
      convert.erase();
      if (source && isOpTriviallyDead(source))
        source->erase();
    });
  }
};

} // namespace
} // namespace tlc::tile
