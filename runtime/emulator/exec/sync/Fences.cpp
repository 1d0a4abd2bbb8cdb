// SPDX-License-Identifier: Apache-2.0
/// \file
/// fence and membar, which only an observer needs: accesses happen in program order here.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"

#include <atomic>

namespace tlc::emulator {

namespace {

enum class FenceKind : uint8_t {
  memory,
  mbarriers, ///< fence.mbarrier_init
  async,     ///< proxy fences of all spaces, or of one
  asyncShared,
  asyncGlobal,
  aliases,
  releaseMaps,
  acquireMap, ///< slots: address
  other,
};

struct Fence {
  FenceKind kind = FenceKind::memory;
  Scope scope = Scope::sys;
};

Step fence(Warp &warp, uint32_t active, const Instruction &instruction) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Observer *observer = clusterOf(warp).observer.get();
  if (!observer)
    return Step::next;
  constexpr FencedSpace both[] = {FencedSpace::shared, FencedSpace::global}, shared[] = {FencedSpace::shared},
                        global[] = {FencedSpace::global}, aliases[] = {FencedSpace::aliases};
  const Fence fence = instruction.payloadAs<Fence>();
  switch (fence.kind) {
  case FenceKind::memory:
    observer->fence(warp, active, fence.scope);
    break;
  case FenceKind::mbarriers:
    observer->publishMbarriers(warp, active);
    break;
  case FenceKind::async:
    observer->proxyFence(warp, active, both);
    break;
  case FenceKind::asyncShared:
    observer->proxyFence(warp, active, shared);
    break;
  case FenceKind::asyncGlobal:
    observer->proxyFence(warp, active, global);
    break;
  case FenceKind::aliases:
    observer->proxyFence(warp, active, aliases);
    break;
  case FenceKind::releaseMaps:
    observer->releaseMaps(warp, active);
    break;
  case FenceKind::acquireMap: {
    const LaneAddresses64 addresses =
        laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
    for (uint32_t left = active, lanes; left != 0; left &= ~lanes) {
      const unsigned lane = unsigned(std::countr_zero(left));
      lanes = lanesAt(addresses, left, lane);
      observer->acquireMap(warp, lanes, addresses.lane[lane]);
    }
    break;
  }
  case FenceKind::other:
    break;
  }
  return Step::next;
}

FenceKind takeFence(Decoder &d) {
  if (d.take("mbarrier_init"))
    return FenceKind::mbarriers;
  if (!d.take("proxy"))
    return FenceKind::memory;
  if (d.take("tensormap::generic"))
    return d.take("acquire") ? FenceKind::acquireMap : FenceKind::releaseMaps;
  if (d.take("alias"))
    return FenceKind::aliases;
  if (!d.take("async"))
    return FenceKind::other;
  if (d.take("global"))
    return FenceKind::asyncGlobal;
  return d.take("shared::cta") || d.take("shared::cluster") ? FenceKind::asyncShared : FenceKind::async;
}

void decodeFence(Decoder &d) {
  Fence use{.kind = takeFence(d)};
  if (const auto scope = d.takeOneOf<Scope>({{"cta", Scope::cta},
                                             {"cluster", Scope::cluster},
                                             {"gpu", Scope::gpu},
                                             {"gl", Scope::gpu},
                                             {"sys", Scope::sys}}))
    use.scope = *scope;
  d.ignore({"sc", "acq_rel", "acquire", "release", "async::generic", "sync_restrict::shared::cta",
            "sync_restrict::shared::cluster"});
  if (use.kind != FenceKind::acquireMap) {
    d.emitWith(fence, {}, use);
    return;
  }
  d.expectOperands(2);
  const AddressOperand address = d.address(0);
  if (d.immediate(1) != 128)
    return d.fail("'{}' is for the 128 bytes of a tensor map, but got {}", d.at().fullName(), d.immediate(1));
  d.emitWith(fence, {address.base}, use).immediate = address.offset;
}

constexpr DecodeEntry entries[] = {
    {"fence", decodeFence},
    {"membar", decodeFence},
};

} // namespace

std::span<const DecodeEntry> fenceInstructions() { return entries; }

} // namespace tlc::emulator
