// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/Canonicalizer.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {

struct LocationBound : RewriterBase::Listener {
  static constexpr size_t mostParts = 8;

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    auto fused = dyn_cast<FusedLoc>(op->getLoc());
    if (fused && !fused.getMetadata() && fused.getLocations().size() > mostParts)
      op->setLoc(FusedLoc::get(op->getContext(), fused.getLocations().take_front(mostParts)));
  }
};

} // namespace

std::unique_ptr<Pass> tlc::tile::createCanonicalizer(GreedyRewriteConfig config) {
  static LocationBound bound; // without state: copies of the pass share it
  config.setListener(&bound);
  return createCanonicalizerPass(config);
}
