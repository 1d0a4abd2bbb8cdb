// SPDX-License-Identifier: Apache-2.0
/// \file
/// st.async and red.async: stores to another block that an mbarrier counts.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/AtomicOps.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"

namespace tlc::emulator {

namespace {

struct StoreAsync {
  Type type = Type::b32;
  unsigned count = 1;
  std::optional<AtomicOp> reduction;
  int64_t toOffset = 0, barrierOffset = 0;
};

/// slots: address, barrier, values...
Step issueStoreAsync(Warp &warp, uint32_t active, const Instruction &instruction) {
  const StoreAsync &how = instruction.payloadAs<StoreAsync>();
  const unsigned bytes = sizeInBytes(how.type);
  const LaneAddresses64 to = laneAddresses(warp, instruction, instruction.slots[0], how.toOffset),
                        barriers = laneAddresses(warp, instruction, instruction.slots[1], how.barrierOffset);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    if (!findMbarrier(warp, instruction, Space::sharedCluster, l, barriers.lane[l],
                      MbarrierState::initialised)
             .block)
      return Step::fault;
    std::array<uint64_t, 4> values = {};
    for (unsigned i = 0; i < how.count; ++i)
      std::memcpy(&values[i], warp.read(instruction.slots[2 + i]) + l * bytes, bytes);
    auto operation = std::make_shared<AsyncOperation>();
    operation->warp = &warp;
    operation->instruction = &instruction;
    operation->work = {
        .unit = AsyncWork::Unit::remote, .bytes = bytes * how.count, .sharedAddress = uint32_t(to.lane[l])};
    operation->run = [&warp, &instruction, &how, l, bytes, values, address = to.lane[l],
                      barrier = barriers.lane[l]] {
      const uint64_t total = uint64_t(bytes) * how.count;
      const SharedPlace place = sharedPlace(warp, barrier);
      if (Observer *observer = clusterOf(warp).observer.get())
        observer->completesOn(place);
      std::byte *host = touch(warp, instruction,
                              {Space::sharedCluster, how.reduction ? AccessKind::atomic : AccessKind::write,
                               Proxy::generic, l, address, total, total});
      if (!host)
        return false;
      for (unsigned i = 0; i < how.count; ++i) {
        if (how.reduction)
          updateAtomically(host + i * bytes, *how.reduction, how.type, values[i], 0, Subnormals::keep);
        else
          std::memcpy(host + i * bytes, &values[i], bytes);
      }
      noteArrival(*place.block, place.address, warp, instruction);
      completeBytes(*place.block, place.address, uint32_t(total));
      return true;
    };
    if (Observer *observer = clusterOf(warp).observer.get())
      operation->note = observer->issueOnMbarrier(warp, instruction, l, false);
    clusterOf(warp).queue.push(std::move(operation));
  }
  return Step::next;
}

void storeAsync(Decoder &d, bool reduces) {
  StoreAsync how;
  d.take("async");
  takeOrdering(d);
  if (!d.take("shared::cluster") || !d.take("mbarrier::complete_tx::bytes"))
    return d.fail("'{}' is not a known form", d.at().fullName());
  how.count = d.takeOneOf<unsigned>({{"v2", 2}, {"v4", 4}}).value_or(1);
  if (reduces) {
    for (std::string_view word : {"add", "min", "max", "inc", "dec", "and", "or", "xor"})
      if (d.take(word)) {
        how.reduction = parseAtomicOp(word);
        break;
      }
    if (!how.reduction)
      return d.fail("'{}' lacks an operation", d.at().fullName());
  }
  how.type = d.type();
  if (sizeInBytes(how.type) < 4 || sizeInBytes(how.type) > 8 ||
      (how.reduction && !hasAtomic(*how.reduction, how.type)))
    return d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(how.type));
  d.expectOperands(3);
  d.accesses(Space::sharedCluster, sizeInBytes(how.type) * how.count);
  const AddressOperand to = d.address(0), barrier = d.address(2);
  how.toOffset = to.offset, how.barrierOffset = barrier.offset;
  std::vector<Slot> slots{to.base, barrier.base};
  for (const Operand &value : d.elements(d.operand(1)))
    slots.push_back(d.in(value, how.type));
  if (slots.size() != 2 + how.count)
    return d.fail("'{}' takes {} elements", d.at().fullName(), how.count);
  d.emitWith(issueStoreAsync, slots, how);
}

} // namespace

void decodeStoreAsync(Decoder &d) { storeAsync(d, false); }
void decodeReduceAsync(Decoder &d) { storeAsync(d, true); }

} // namespace tlc::emulator
