// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/Canonicalizer.h"

#include "mlir/Rewrite/FrozenRewritePatternSet.h"

#include <memory>

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

/// The patterns of all operations, which take longer to make than to apply to a small program: passes of one
/// pipeline share them.
std::shared_ptr<const FrozenRewritePatternSet> patternsOf(MLIRContext *context) {
  thread_local MLIRContext *knownContext = nullptr;
  thread_local size_t knownOperations = 0;
  thread_local std::weak_ptr<const FrozenRewritePatternSet> known; // while a pass of that context has them
  const ArrayRef<RegisteredOperationName> operations = context->getRegisteredOperations();
  if (std::shared_ptr<const FrozenRewritePatternSet> patterns = known.lock();
      patterns && knownContext == context && knownOperations == operations.size())
    return patterns;
  RewritePatternSet all(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(all);
  for (RegisteredOperationName operation : operations)
    operation.getCanonicalizationPatterns(all, context);
  auto patterns = std::make_shared<const FrozenRewritePatternSet>(std::move(all));
  known = patterns, knownContext = context, knownOperations = operations.size();
  return patterns;
}

/// MLIR's pass of that name makes the patterns for itself.
struct Canonicalizer : PassWrapper<Canonicalizer, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Canonicalizer)

  explicit Canonicalizer(const GreedyRewriteConfig &config) : config(config) {
    isTopDown = config.getUseTopDownTraversal();
  }
  Canonicalizer(const Canonicalizer &other)
      : PassWrapper(other), config(other.config), patterns(other.patterns) {}

  StringRef getName() const override { return "Canonicalizer"; }
  StringRef getArgument() const override { return "canonicalize"; }
  StringRef getDescription() const override { return "Canonicalize operations"; }
  LogicalResult initialize(MLIRContext *context) override {
    patterns = patternsOf(context);
    return success();
  }
  void runOnOperation() override {
    (void)applyPatternsGreedily(getOperation(), *patterns, config); // without a fixed point it is still right
  }

  /// So that a reproducer gives it to MLIR's pass.
  Option<bool> isTopDown{*this, "top-down", llvm::cl::desc("From the operations to their uses")};
  GreedyRewriteConfig config;
  std::shared_ptr<const FrozenRewritePatternSet> patterns;
};

} // namespace

std::unique_ptr<Pass> tlc::tile::createCanonicalizer(GreedyRewriteConfig config) {
  static LocationBound bound; // without state: copies of the pass share it
  config.setListener(&bound);
  return std::make_unique<Canonicalizer>(config);
}
