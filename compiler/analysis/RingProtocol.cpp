// SPDX-License-Identifier: Apache-2.0
#include "compiler/analysis/RingProtocol.h"

#include "compiler/analysis/SlotPlaces.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include "llvm/ADT/DenseSet.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// What an operation does with a slot, in the words of the language; empty for others.
StringRef callOf(Operation *op) {
  if (isa<ExpectOp>(op))
    return "expect";
  if (isa<PublishOp>(op))
    return "publish";
  return isa<ReleaseOp>(op) ? "release" : "";
}

/// The iterations of a loop, if they are a constant.
std::optional<int64_t> constantTrips(LoopLikeOpInterface loop) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  return trips ? std::optional(trips->getSExtValue()) : std::nullopt;
}

/// How often the loops around the operation run it, if that is a constant.
std::optional<int64_t> constantRuns(Operation *op) {
  int64_t runs = 1;
  for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>()) {
    const std::optional<int64_t> trips = constantTrips(loop);
    if (!trips || __builtin_mul_overflow(runs, *trips, &runs))
      return std::nullopt;
  }
  return runs;
}

/// Nothing if every iteration of the loop that the operation is in has a slot of its own.
LogicalResult verifyAdvanced(Operation *op) {
  // A branch may pick one iteration, and a constant number of iterations may be what the ring counts.
  auto loop = dyn_cast<LoopLikeOpInterface>(op->getParentOp());
  if (!loop || constantTrips(loop))
    return success();
  const Value first = positionOf(synchronisationOf(op).cursor).root;
  if (!loop.isDefinedOutsideOfLoop(first))
    return success();
  const StringRef call = callOf(op);
  InFlightDiagnostic diagnostic =
      op->emitError("expected the cursor of ")
      << describe(synchronisationOf(op).ring, "the ring") << " to be advanced in the loop because '" << call
      << "' is called in each iteration, but it is at the same slot in all of them; call advance() on it at "
         "the end of the loop's body";
  if (auto made = first.getDefiningOp<CursorOp>())
    diagnostic.attachNote(made.getLoc()) << "the cursor is declared here";
  diagnostic.attachNote(loop.getLoc()) << "the loop is here";
  return diagnostic;
}

} // namespace

LogicalResult verifyRingProtocol(KernelOp kernel) {
  llvm::DenseSet<Value> acquired, released;
  WalkResult walked = kernel.walk([&](Operation *op) {
    if (auto acquire = dyn_cast<AcquireOp>(op))
      acquired.insert(acquire.getRing());
    else if (auto release = dyn_cast<ReleaseOp>(op))
      released.insert(release.getRing());
    return !callOf(op).empty() && failed(verifyAdvanced(op)) ? WalkResult::interrupt()
                                                             : WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  walked = kernel.walk([&](Operation *op) {
    if (!isa<ExpectOp, PublishOp>(op))
      return WalkResult::advance();
    const Synchronisation order = synchronisationOf(op);
    const int64_t slots = slotsOf(order.cursor);
    const std::optional<int64_t> runs = constantRuns(op);
    if (acquired.contains(order.ring) || !released.contains(order.ring) || (runs && *runs <= slots))
      return WalkResult::advance();
    op->emitError("expected a slot of ")
        << describe(order.ring, "the ring") << " to be acquired before it is filled again because '"
        << callOf(op) << "' is called in a loop and the ring has " << slots
        << " slots, but no role calls acquire; call acquire with the same cursor before the slot is filled";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

} // namespace tlc::tile
