// SPDX-License-Identifier: Apache-2.0
/// \file
/// What single threads issue beside tcgen05.mma: cp, shift and commit. A
/// block's, or a pair's, pipe completes them in the order of issue.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/tensor/Tcgen05.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tlc::emulator {

namespace {

// --- cp -----------------------------------------------------------------------------------------

struct CopyUse {
  TensorCopy copy;
  unsigned ctaGroup = 1;
};

/// slots: address, descriptor
Step issueCopy(Warp &warp, uint32_t active, const Instruction &instruction) {
  const CopyUse &use = instruction.payloadAs<CopyUse>();
  const TensorPair pair = tensorPair(warp, instruction, use.ctaGroup);
  if (pair.count == 0)
    return Step::fault;
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const TensorAddress to = TensorAddress::decode(lanesOf<uint32_t>(warp, instruction.slots[0])[l] +
                                                   uint32_t(instruction.immediate));
    const auto descriptor = TensorDescriptor::decode(lanesOf<uint64_t>(warp, instruction.slots[1])[l]);
    if (!descriptor)
      return fault(warp, instruction, descriptor.error().message);
    // Four rows go to the same lane of each quarter, all others fill lanes from 0 on.
    const bool four = use.copy.shape == TensorCopyShape::rows4x256b;
    if (four && to.lane >= quarterLanes)
      return fault(
          warp, instruction,
          fmt::format("the address {:#x} of the destination has lane {}, which must be below {} for four "
                      "rows",
                      to.encode(), to.lane, quarterLanes));
    if (!four && !checkLane(warp, instruction, "the destination", to, {0}))
      return Step::fault;
    for (unsigned p = 0; p < pair.count; ++p)
      if (!checkTensorColumns(warp, instruction, *pair.blocks[p], to.column, use.copy.columns()))
        return Step::fault;
    std::vector<TensorTouch> touches;
    for (unsigned p = 0; p < pair.count; ++p)
      for (unsigned lane = four ? to.lane / 16 * 16 : 0; lane < tensorLanes; lane += four ? quarterLanes : 16)
        touches.push_back({pair.blocks[p], lane, 16, to.column, use.copy.columns(), AccessKind::write});
    pushOnPipe(warp, instruction, pair, noteOf(warp, instruction, touches),
               [&warp, &instruction, &use, pair, to, descriptor = *descriptor] {
                 std::vector<ByteRange> ranges;
                 copyRanges(use.copy, descriptor, ranges);
                 for (unsigned p = 0; p < pair.count; ++p) {
                   if (!checkNotFreed(warp, instruction, *pair.blocks[p], to.column, use.copy.columns()) ||
                       !touchShared(warp, instruction, *pair.blocks[p], ranges))
                     return false;
                   copyToTensor(use.copy, descriptor, tensorBlock(*pair.blocks[p]), to);
                 }
                 return true;
               });
  }
  return Step::next;
}

// --- shift -----------------------------------------------------------------------------------------

/// slots: address
Step issueShift(Warp &warp, uint32_t active, const Instruction &instruction) {
  const TensorPair pair = tensorPair(warp, instruction, instruction.payloadAs<unsigned>());
  if (pair.count == 0)
    return Step::fault;
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const TensorAddress at = TensorAddress::decode(lanesOf<uint32_t>(warp, instruction.slots[0])[l] +
                                                   uint32_t(instruction.immediate));
    if (!checkLane(warp, instruction, "the rows", at, {0, quarterLanes, 2 * quarterLanes, 3 * quarterLanes}))
      return Step::fault;
    for (unsigned p = 0; p < pair.count; ++p)
      if (!checkTensorColumns(warp, instruction, *pair.blocks[p], at.column, shiftColumns))
        return Step::fault;
    std::vector<TensorTouch> touches;
    for (unsigned p = 0; p < pair.count; ++p)
      for (AccessKind kind : {AccessKind::read, AccessKind::write})
        touches.push_back({pair.blocks[p], at.lane, quarterLanes, at.column, shiftColumns, kind});
    pushOnPipe(warp, instruction, pair, noteOf(warp, instruction, touches), [&warp, &instruction, pair, at] {
      for (unsigned p = 0; p < pair.count; ++p) {
        if (!checkNotFreed(warp, instruction, *pair.blocks[p], at.column, shiftColumns))
          return false;
        shiftDown(pair.blocks[p]->tensorMemory.cells(), at);
      }
      return true;
    });
  }
  return Step::next;
}

// --- commit ------------------------------------------------------------------------------------------

struct CommitUse {
  unsigned ctaGroup = 1;
  Space space = Space::generic;
  bool multicast = false;
};

bool arrive(Warp &warp, const Instruction &instruction, const SharedPlace &place) {
  Mbarrier barrier = loadMbarrier(*place.block, place.address);
  if (barrier.pending == 0) {
    fault(warp, instruction,
          fmt::format("{} of block rank {} expects no more arrivals",
                      describeMbarrier(*place.block, place.address), place.block->rank));
    return false;
  }
  --barrier.pending;
  noteArrival(*place.block, place.address, warp, instruction);
  storeMbarrier(*place.block, place.address, barrier);
  return true;
}

/// slots: mbarrier, mask
Step issueCommit(Warp &warp, uint32_t active, const Instruction &instruction) {
  const CommitUse &use = instruction.payloadAs<CommitUse>();
  const TensorPair pair = tensorPair(warp, instruction, use.ctaGroup);
  if (pair.count == 0)
    return Step::fault;
  Cluster &cluster = clusterOf(warp);
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const uint32_t mask = lanesOf<uint16_t>(warp, instruction.slots[1])[l];
    if (use.multicast && (mask == 0 || mask >> cluster.blocks.size() != 0))
      return fault(warp, instruction,
                   fmt::format("the multicast mask {:#x} does not fit the cluster of {} blocks", mask,
                               cluster.blocks.size()));
    const SharedPlace own = sharedPlace(warp, addresses.lane[l]);
    std::vector<SharedPlace> places;
    for (Block &block : cluster.blocks)
      if (use.multicast ? mask >> block.rank & 1 : &block == own.block)
        places.push_back({&block, own.address});
    if (places.empty())
      places.push_back(own);
    for (const SharedPlace &place : places) {
      const uint64_t address =
          use.multicast ? sharedWindow(place.block->rank) | own.address : addresses.lane[l];
      const Space space = use.multicast ? Space::sharedCluster : use.space;
      if (!findMbarrier(warp, instruction, space, l, address, MbarrierState::initialised).block)
        return Step::fault;
    }
    Observer *observer = cluster.observer.get();
    pushOnPipe(
        warp, instruction, pair, nullptr,
        [&warp, &instruction, places, observer, note = observer ? observer->commitPipe(warp) : nullptr] {
          return std::all_of(places.begin(), places.end(), [&](const SharedPlace &place) {
            if (observer)
              observer->completePipe(*note, place);
            return arrive(warp, instruction, place);
          });
        });
  }
  return Step::next;
}

} // namespace

void pushOnPipe(Warp &warp, const Instruction &instruction, const TensorPair &pair,
                std::shared_ptr<OperationNote> note, std::function<bool()> run, const AsyncWork &work) {
  TensorPipe &pipe = pair.blocks[0]->tensorPipe;
  auto operation = std::make_shared<AsyncOperation>();
  operation->warp = &warp;
  operation->instruction = &instruction;
  operation->note = std::move(note);
  operation->work = work;
  operation->ready = [&pipe, number = pipe.issued++] { return pipe.completed == number; };
  operation->run = [&pipe, run = std::move(run)] {
    if (!run())
      return false;
    ++pipe.completed;
    return true;
  };
  clusterOf(warp).queue.push(std::move(operation));
  ++clusterOf(warp).progress;
}

std::shared_ptr<OperationNote> noteOf(Warp &warp, const Instruction &instruction,
                                      std::span<const TensorTouch> touches) {
  Observer *observer = clusterOf(warp).observer.get();
  return observer ? observer->issueOnPipe(warp, instruction, touches) : nullptr;
}

bool touchShared(Warp &warp, const Instruction &instruction, const Block &block,
                 const std::vector<ByteRange> &ranges) {
  const uint64_t base = sharedWindow(block.rank);
  return std::all_of(ranges.begin(), ranges.end(), [&](const ByteRange &range) {
    return touch(warp, instruction,
                 {Space::sharedCluster, AccessKind::read, Proxy::async, noLane, base | range.address,
                  range.bytes, 16}) != nullptr;
  });
}

bool checkNotFreed(Warp &warp, const Instruction &instruction, const Block &block, uint32_t column,
                   uint32_t columns) {
  if (block.tensorMemory.isAllocated(column, columns))
    return true;
  fault(warp, instruction,
        fmt::format(
            "columns {} to {} of tensor memory were freed before the operation was complete; missing: a "
            "wait for the mbarrier of a tcgen05.commit after it, before tcgen05.dealloc",
            column, column + columns - 1));
  return false;
}

bool checkLane(Warp &warp, const Instruction &instruction, std::string_view what, TensorAddress address,
               std::initializer_list<unsigned> lanes) {
  if (std::find(lanes.begin(), lanes.end(), address.lane) != lanes.end())
    return true;
  fault(warp, instruction,
        fmt::format("the address {:#x} of {} has lane {}, which must be {}", address.encode(), what,
                    address.lane, fmt::join(lanes, " or ")));
  return false;
}

void decodeTensorCopy(Decoder &d) {
  CopyUse use;
  use.ctaGroup = takeCtaGroup(d);
  struct Named {
    std::string_view shape, multicast;
    TensorCopyShape value;
  };
  constexpr Named shapes[] = {
      {"128x256b", "", TensorCopyShape::rows128x256b},
      {"4x256b", "", TensorCopyShape::rows4x256b},
      {"128x128b", "", TensorCopyShape::rows128x128b},
      {"64x128b", "warpx2::02_13", TensorCopyShape::rows64x128bTo02And13},
      {"64x128b", "warpx2::01_23", TensorCopyShape::rows64x128bTo01And23},
      {"32x128b", "warpx4", TensorCopyShape::rows32x128b},
  };
  const auto has = [&](std::string_view word) {
    return std::find(d.remaining().begin(), d.remaining().end(), word) != d.remaining().end();
  };
  bool known = false;
  for (const Named &one : shapes)
    if (!known && has(one.shape) && (one.multicast.empty() || has(one.multicast))) {
      known = d.take(one.shape);
      d.take(one.multicast);
      use.copy.shape = one.value;
    }
  if (!known)
    return d.fail("'{}' is not a known form", d.at().fullName());
  if (d.take("b8x16")) {
    const auto format = d.takeOneOf<TensorCopyFormat>(
        {{"b6x16_p32", TensorCopyFormat::bits6}, {"b4x16_p64", TensorCopyFormat::bits4}});
    if (!format)
      return d.fail("'{}' lacks the format of its source", d.at().fullName());
    use.copy.format = *format;
  }
  d.expectOperands(2);
  const AddressOperand to = d.address(0);
  d.emitWith(issueCopy, {to.base, d.in(1, Type::b64)}, use).immediate = to.offset;
}

void decodeTensorShift(Decoder &d) {
  const unsigned ctaGroup = takeCtaGroup(d);
  if (!d.take("down"))
    return d.fail("'{}' is not a known form", d.at().fullName());
  d.expectOperands(1);
  const AddressOperand at = d.address(0);
  d.emitWith(issueShift, {at.base}, ctaGroup).immediate = at.offset;
}

void decodeTensorCommit(Decoder &d) {
  CommitUse use;
  use.ctaGroup = takeCtaGroup(d);
  if (!d.take("mbarrier::arrive::one"))
    return d.fail("'{}' needs .mbarrier::arrive::one", d.at().fullName());
  use.space = d.space();
  use.multicast = d.take("multicast::cluster");
  d.take("b64");
  d.expectOperands(1 + use.multicast);
  d.accesses(Space::shared, 8);
  const AddressOperand barrier = d.address(0);
  d.emitWith(issueCommit, {barrier.base, use.multicast ? d.in(1, Type::b16) : d.constant(0, 2)}, use)
      .immediate = barrier.offset;
}

} // namespace tlc::emulator
