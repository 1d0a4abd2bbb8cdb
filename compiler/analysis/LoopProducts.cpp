// SPDX-License-Identifier: Apache-2.0
/// \file
/// Chains of products are followed along their sums, within one iteration.
#include "compiler/analysis/LoopProducts.h"

#include "compiler/analysis/ElementOrders.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Reports.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

bool tile::isProductInFlight(Operation *op) { return completionOf(op) == Completion::productGroup; }

bool tile::isProductWait(Operation *op) { return completedBy(op) == Completion::productGroup; }

bool tile::isRelease(Operation *op) { return synchronisationOf(op).event == SlotEvent::released; }

std::optional<AccumulatorChain> tile::chainOf(InFlightOpInterface product, scf::ForOp loop) {
  Value sums = product.getValueInFlight();
  if (!sums.hasOneUse())
    return std::nullopt;
  auto wait = dyn_cast<CompletionOpInterface>(*sums.user_begin());
  if (!wait || wait.getNumInFlight() != 0 || wait->getBlock() != loop.getBody() ||
      !wait.getCompleteValue().hasOneUse())
    return std::nullopt;
  OpOperand &use = *wait.getCompleteValue().use_begin();
  if (use.getOwner() != loop.getBody()->getTerminator())
    return std::nullopt;
  BlockArgument carried = loop.getRegionIterArg(use.getOperandNumber());
  if (!carried.hasOneUse() || product.getContinuedOperand()->get() != carried)
    return std::nullopt;
  return AccumulatorChain{product, wait};
}

Operation *tile::completionInRound(InFlightOpInterface product) {
  for (Operation *user : product.getValueInFlight().getUsers()) {
    if (user->getBlock() != product->getBlock())
      continue;
    if (auto wait = dyn_cast<CompletionOpInterface>(user))
      return wait.getNumInFlight() == 0 ? user : nullptr;
    if (auto next = dyn_cast<InFlightOpInterface>(user))
      return completionInRound(next);
  }
  return nullptr;
}

Value tile::startOfSums(InFlightOpInterface product) {
  Value sums = product.getContinuedOperand()->get();
  while (Operation *op = sums.getDefiningOp())
    if (auto wait = dyn_cast<CompletionOpInterface>(op))
      sums = wait.getAwaitedValue();
    else if (auto earlier = dyn_cast<InFlightOpInterface>(op))
      sums = earlier.getContinuedOperand()->get();
    else
      break;
  return sums;
}

bool tile::toleratesOverlap(Operation &op) {
  if (isMemoryEffectFree(&op) || onlyReports(&op) || synchronisationOf(&op).event == SlotEvent::awaited)
    return true;
  SmallVector<MemoryAccess, 3> accesses = memoryAccessesOf(&op);
  return !accesses.empty() && !completionOf(&op) && !synchronisationOf(&op).meetsFirst &&
         llvm::all_of(accesses, [](const MemoryAccess &access) { return access.proxy == Proxy::generic; });
}

bool tile::writesMemory(Operation *op) {
  return !isProductInFlight(op) && llvm::any_of(memoryAccessesOf(op), [](const MemoryAccess &access) {
    return access.kind != AccessKind::read;
  });
}

namespace {
/// Whether two accesses, of which one at least changes what is there, may meet.
bool conflict(const MemoryAccess &a, const MemoryAccess &b) {
  if (a.kind == b.kind && a.kind != AccessKind::write)
    return false; // reads, and additions, in any order
  if (a.isShared() != b.isShared())
    return false;
  if (a.isShared()) {
    AllocSharedOp first = bufferOf(a.memory), second = bufferOf(b.memory);
    return !first || !second || first == second;
  }
  auto first = a.memory.getDefiningOp<SliceOp>(), second = b.memory.getDefiningOp<SliceOp>();
  return !first || !second || declarationOf(first.getTensor()) == declarationOf(second.getTensor());
}
} // namespace

bool tile::mayConflict(Operation *a, Operation *b) {
  SmallVector<MemoryAccess, 3> later = memoryAccessesOf(b);
  return llvm::any_of(memoryAccessesOf(a), [&](const MemoryAccess &from) {
    return llvm::any_of(later, [&](const MemoryAccess &to) { return conflict(from, to); });
  });
}
