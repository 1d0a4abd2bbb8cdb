// SPDX-License-Identifier: Apache-2.0
/// \file
/// cp.async, bulk and tensor copies: decoded here, queued when issued, done
/// when the queue completes them.
#include "runtime/emulator/exec/async/AsyncCopy.h"

#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"

#include <algorithm>
#include <ranges>

namespace tlc::emulator {

namespace {

// --- cp.async: each lane copies 4, 8 or 16 bytes ---------------------------------------

struct LaneCopy {
  Space from = Space::generic, to = Space::generic;
  uint32_t bytes = 16;
  bool ignoring = false; ///< the fourth operand is a predicate that says to write zeros
  int64_t fromOffset = 0, toOffset = 0;
};

/// slots: dst, src, source bytes, ignore predicate
Step copyLanes(Warp &warp, uint32_t active, const Instruction &instruction) {
  const LaneCopy &copy = instruction.payloadAs<LaneCopy>();
  struct Request {
    LaneAddresses64 to, from;
    uint32_t sourceBytes[warpSize];
  };
  auto request = std::make_shared<Request>();
  request->to = laneAddresses(warp, instruction, instruction.slots[0], copy.toOffset);
  request->from = laneAddresses(warp, instruction, instruction.slots[1], copy.fromOffset);
  const uint32_t ignored = copy.ignoring ? warp.predicate(instruction.slots[3]) : 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    const uint32_t wanted = lanesOf<uint32_t>(warp, instruction.slots[2])[l];
    request->sourceBytes[l] = ignored >> l & 1 ? 0 : wanted;
    if (active >> l & 1 && wanted > copy.bytes)
      return fault(warp, instruction,
                   fmt::format("lane {} copies {} bytes, but the copy has {}", l, wanted, copy.bytes));
  }
  auto operation = std::make_shared<AsyncOperation>();
  operation->warp = &warp;
  operation->instruction = &instruction;
  operation->run = [&warp, &instruction, &copy, active, request] {
    for (unsigned l = 0; l < warpSize; ++l) {
      if (!(active >> l & 1))
        continue;
      const uint32_t bytes = request->sourceBytes[l];
      const std::byte *from = nullptr;
      if (bytes != 0) {
        from =
            touch(warp, instruction,
                  {copy.from, AccessKind::read, Proxy::generic, l, request->from.lane[l], bytes, copy.bytes});
        if (!from)
          return false;
      }
      std::byte *to =
          touch(warp, instruction,
                {copy.to, AccessKind::write, Proxy::generic, l, request->to.lane[l], copy.bytes, copy.bytes});
      if (!to)
        return false;
      std::memset(to, 0, copy.bytes);
      if (bytes != 0)
        std::memcpy(to, from, bytes);
    }
    return true;
  };
  const unsigned first = unsigned(std::countr_zero(active));
  operation->work = {.unit = AsyncWork::Unit::load,
                     .bytes = copy.bytes * unsigned(std::popcount(active)),
                     .globalAddress = request->from.lane[first],
                     .sharedAddress = uint32_t(request->to.lane[first])};
  if (Observer *observer = clusterOf(warp).observer.get())
    operation->note = observer->issueCopy(warp, instruction, AsyncEngine::copy, active, false);
  clusterOf(warp).queue.push(operation);
  warp.asyncGroups[size_t(AsyncEngine::copy)].add(std::move(operation), active);
  return Step::next;
}

template <AsyncEngine engine> Step commitGroup(Warp &warp, uint32_t active, const Instruction &) {
  warp.asyncGroups[size_t(engine)].commit(active);
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->commitCopies(warp, engine, active);
  return Step::next;
}

/// The immediate is how many groups may stay pending.
template <AsyncEngine engine, CopyWait until = CopyWait::complete>
Step waitGroups(Warp &warp, uint32_t active, const Instruction &instruction) {
  AsyncGroups &groups = warp.asyncGroups[size_t(engine)];
  const uint64_t pending = uint64_t(instruction.immediate);
  if (groups.atMost(active, pending)) {
    if (Observer *observer = clusterOf(warp).observer.get())
      observer->waitCopies(warp, engine, active, pending, until);
    return Step::next;
  }
  Wait wait;
  wait.kind = Wait::Kind::asyncGroups;
  wait.engine = engine;
  wait.count = pending;
  return suspend(warp, std::move(wait));
}

/// slots: address. The immediate is its offset; the payload whether the
/// arrival counts among those that the barrier expects (.noinc).
struct ArriveAfterCopies {
  Space space = Space::generic;
  bool counted = false;
};

Step arriveAfterCopies(Warp &warp, uint32_t active, const Instruction &instruction) {
  const ArriveAfterCopies &how = instruction.payloadAs<ArriveAfterCopies>();
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const SharedPlace place =
        findMbarrier(warp, instruction, how.space, l, addresses.lane[l], MbarrierState::initialised);
    if (!place.block)
      return Step::fault;
    if (how.counted)
      continue;
    Mbarrier barrier = loadMbarrier(*place.block, place.address);
    ++barrier.pending;
    storeMbarrier(*place.block, place.address, barrier);
  }
  std::vector<std::shared_ptr<AsyncOperation>> before;
  for (const AsyncGroups::Member &member : warp.asyncGroups[size_t(AsyncEngine::copy)].members)
    if ((member.lanes & active) != 0 && !member.operation->done)
      before.push_back(member.operation);
  auto operation = std::make_shared<AsyncOperation>();
  operation->warp = &warp;
  operation->instruction = &instruction;
  operation->ready = [before] {
    return std::all_of(before.begin(), before.end(), [](const auto &other) { return other->done; });
  };
  Observer *observer = clusterOf(warp).observer.get();
  if (observer)
    operation->note = observer->copiesUntilNow(warp);
  operation->run = [&warp, &instruction, active, addresses, observer, note = operation->note] {
    for (unsigned l = 0; l < warpSize; ++l) {
      if (!(active >> l & 1))
        continue;
      const SharedPlace place = sharedPlace(warp, addresses.lane[l]);
      Mbarrier barrier = loadMbarrier(*place.block, place.address);
      if (barrier.pending == 0) {
        fault(warp, instruction, describeMbarrier(*place.block, place.address) + " expects no more arrivals");
        return false;
      }
      --barrier.pending;
      // Lanes arrive in any order: who waits knows of a warp's copies when the last of them has arrived.
      const auto isAtBarrier = [&](unsigned other) {
        return (active >> other & 1) != 0 && addresses.lane[other] == addresses.lane[l];
      };
      if (observer && std::ranges::none_of(std::views::iota(l + 1, warpSize), isAtBarrier))
        observer->arriveAfter(*note, place);
      noteArrival(*place.block, place.address, warp, instruction);
      storeMbarrier(*place.block, place.address, barrier);
    }
    return true;
  };
  clusterOf(warp).queue.push(std::move(operation));
  return Step::next;
}

void decodeLaneCopy(Decoder &d) {
  LaneCopy copy;
  takeCacheHints(d);
  if (!d.take("shared") && !d.take("shared::cta"))
    return d.fail("'{}' copies to .shared", d.at().fullName());
  if (!d.take("global"))
    return d.fail("'{}' copies from .global", d.at().fullName());
  copy.to = Space::shared;
  copy.from = Space::global;
  d.expectOperands(3, 5);
  const AddressOperand to = d.address(0), from = d.address(1);
  const int64_t bytes = d.immediate(2);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return d.fail("'{}' copies 4, 8 or 16 bytes, but got {}", d.at().fullName(), bytes);
  copy.bytes = uint32_t(bytes);
  d.accesses(copy.to, copy.bytes);
  d.accesses(copy.from, copy.bytes);
  copy.toOffset = to.offset, copy.fromOffset = from.offset;
  Slot sourceBytes = d.constant(copy.bytes, 4), ignore = d.constant(0, 0);
  if (d.operandCount() > 3) {
    const Operand &fourth = d.operand(3);
    const std::optional<unsigned> width = d.registerBytes(fourth);
    if (width == 0u) {
      copy.ignoring = true;
      ignore = d.in(fourth, Type::pred);
    } else if (width != 8u) { // 8: a cache policy
      sourceBytes = d.in(fourth, Type::b32);
    }
  }
  d.emitWith(copyLanes, {to.base, from.base, sourceBytes, ignore}, copy);
}

void decodeCopyAsync(Decoder &d) {
  if (d.take("bulk"))
    return decodeBulk(d, std::nullopt);
  if (d.take("mbarrier")) {
    ArriveAfterCopies how;
    d.take("arrive");
    how.counted = d.take("noinc");
    how.space = d.space();
    d.take("b64");
    d.expectOperands(1);
    const AddressOperand address = d.address(0);
    d.emitWith(arriveAfterCopies, {address.base}, how).immediate = address.offset;
    return;
  }
  if (d.take("commit_group")) {
    d.emit(commitGroup<AsyncEngine::copy>, {});
    return;
  }
  if (d.take("wait_all")) {
    d.emit(commitGroup<AsyncEngine::copy>, {});
    d.emit(waitGroups<AsyncEngine::copy>, {}, 0);
    return;
  }
  if (d.take("wait_group")) {
    d.expectOperands(1);
    d.emit(waitGroups<AsyncEngine::copy>, {}, d.immediate(0));
    return;
  }
  decodeLaneCopy(d);
}

void decodeCp(Decoder &d) {
  if (d.take("reduce")) {
    if (!d.take("async") || !d.take("bulk"))
      return d.fail("unknown instruction '{}'", d.at().fullName());
    return decodeBulkReduction(d);
  }
  if (!d.take("async"))
    return d.fail("unknown instruction '{}'", d.at().fullName());
  decodeCopyAsync(d);
}

constexpr DecodeEntry entries[] = {{"cp", decodeCp}};

} // namespace

void emitBulkCommit(Decoder &d) { d.emit(commitGroup<AsyncEngine::bulk>, {}); }

void emitBulkWait(Decoder &d) {
  const bool read = d.take("read"); // an operation completes in one step; only an observer minds
  d.expectOperands(1);
  d.emit(read ? waitGroups<AsyncEngine::bulk, CopyWait::read> : waitGroups<AsyncEngine::bulk>, {},
         d.immediate(0));
}

std::span<const DecodeEntry> asyncInstructions() { return entries; }

} // namespace tlc::emulator
