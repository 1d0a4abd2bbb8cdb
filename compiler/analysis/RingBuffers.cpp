// SPDX-License-Identifier: Apache-2.0
/// \file
/// By the operations that fill, store and publish, wherever in the kernel they stand.
#include "compiler/analysis/RingBuffers.h"

#include "compiler/analysis/ElementOrders.h"

namespace tlc::tile {

using namespace mlir;

RingBuffers::RingBuffers(KernelOp kernel) {
  kernel.walk([&](Operation *op) {
    if (Synchronisation order = synchronisationOf(op); order.event == SlotEvent::published)
      published.insert(order.ring);
    auto started = dyn_cast<InFlightOpInterface>(op);
    bool fillsRing = started && started.getCompletion() == Completion::ring;
    for (const MemoryAccess &access : memoryAccessesOf(op)) {
      AllocSharedOp buffer = access.isShared() ? bufferOf(access.memory) : AllocSharedOp();
      if (!buffer || access.kind == AccessKind::read)
        continue;
      if (fillsRing)
        filledBy[buffer].insert(started.getCompletingRing());
      else
        stored.insert(buffer);
    }
  });
}

bool RingBuffers::fills(Value ring, AllocSharedOp buffer) const {
  auto found = filledBy.find(buffer);
  return found != filledBy.end() && found->second.contains(ring);
}

bool RingBuffers::guards(Value ring, Value tile) const {
  AllocSharedOp buffer = bufferOf(tile);
  if (!buffer)
    return false;
  return isFilled(buffer) ? fills(ring, buffer) : published.size() == 1 && published.contains(ring);
}

bool RingBuffers::mayGuard(Value ring, Value tile) const {
  AllocSharedOp buffer = bufferOf(tile);
  return !buffer || fills(ring, buffer) || (stored.contains(buffer) && published.contains(ring));
}

} // namespace tlc::tile
