// SPDX-License-Identifier: Apache-2.0
/// \file
/// By the operations that fill, store and publish, wherever in the kernel they stand.
#include "compiler/analysis/RingBuffers.h"

#include "compiler/analysis/ElementOrders.h"

namespace tlc::tile {

using namespace mlir;

RingBuffers::RingBuffers(KernelOp kernel) {
  kernel.walk([&](Operation *op) {
    Operation *role = op->getParentOfType<RoleOp>();
    if (!role)
      role = kernel;
    if (Synchronisation order = synchronisationOf(op);
        order.event == SlotEvent::published || order.event == SlotEvent::announced)
      handedOverBy[order.ring].insert(role);
    auto started = dyn_cast<InFlightOpInterface>(op);
    bool fillsRing = started && started.getCompletion() == Completion::ring;
    for (const MemoryAccess &access : memoryAccessesOf(op)) {
      AllocSharedOp buffer = access.isShared() ? bufferOf(access.memory) : AllocSharedOp();
      if (!buffer || access.kind == AccessKind::read)
        continue;
      if (fillsRing)
        filledBy[buffer].insert(started.getCompletingRing());
      else
        storedBy[buffer].insert(role);
    }
  });
}

bool RingBuffers::fills(Value ring, AllocSharedOp buffer) const {
  auto found = filledBy.find(buffer);
  return found != filledBy.end() && found->second.contains(ring);
}

bool RingBuffers::isHandedOver(Value ring, AllocSharedOp buffer) const {
  auto stores = storedBy.find(buffer);
  auto hands = handedOverBy.find(ring);
  return stores != storedBy.end() && hands != handedOverBy.end() &&
         llvm::any_of(stores->second, [&](Operation *role) { return hands->second.contains(role); });
}

bool RingBuffers::guards(Value ring, Value tile) const {
  AllocSharedOp buffer = bufferOf(tile);
  if (!buffer)
    return false;
  if (isFilled(buffer))
    return fills(ring, buffer);
  return isHandedOver(ring, buffer) && llvm::none_of(handedOverBy, [&](const auto &other) {
           return other.first != ring && isHandedOver(other.first, buffer);
         });
}

bool RingBuffers::mayGuard(Value ring, Value tile) const {
  AllocSharedOp buffer = bufferOf(tile);
  return !buffer || fills(ring, buffer) || isHandedOver(ring, buffer);
}

} // namespace tlc::tile
