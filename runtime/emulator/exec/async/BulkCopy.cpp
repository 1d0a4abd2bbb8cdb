// SPDX-License-Identifier: Apache-2.0
/// \file
/// cp.async.bulk, cp.async.bulk.tensor, their reductions.
#include "runtime/emulator/exec/async/AsyncCopy.h"
#include "runtime/emulator/exec/async/BulkOperands.h"
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"
#include "runtime/emulator/math/TensorMap.h"

#include <algorithm>

namespace tlc::emulator {

namespace {

struct Bulk {
  Space to = Space::generic, from = Space::generic;
  bool barrier = false;   ///< completes on an mbarrier, else in a bulk group
  bool multicast = false; ///< to all blocks of a mask
  unsigned rank = 0;      ///< of the tensor; 0 for plain bytes
  bool im2col = false;    ///< with offsets, and the map is in that mode
  unsigned ctaGroup = 1;  ///< 2: the barrier may be in the other block of the pair
  std::optional<AtomicOp> reduction;
  Type type = Type::u32; ///< of a reduction of plain bytes
  int64_t toOffset = 0, fromOffset = 0, barrierOffset = 0;
};

/// What one thread issues.
struct Request {
  uint64_t to = 0, from = 0, barrier = 0;
  uint64_t bytes = 0;
  uint32_t mask = 0;
  std::array<int32_t, 2 * EmulatedTensorMap::maxRank - 2> coordinates = {}; ///< and offsets
  EmulatedTensorMap map;
};

/// slots: dst or map, src or map, bytes, barrier, mask, coordinates..., offsets...
enum BulkSlot { slotTo, slotFrom, slotBytes, slotBarrier, slotMask, slotCoordinates };

bool touchRanges(Warp &warp, const Instruction &instruction, const std::vector<ByteRange> &ranges,
                 AccessKind kind) {
  return std::all_of(ranges.begin(), ranges.end(), [&](const ByteRange &range) {
    return touch(warp, instruction,
                 {Space::global, kind, Proxy::async, noLane, range.address, range.bytes, 1}) != nullptr;
  });
}

/// The box in shared memory: one access, as its rows follow each other.
bool touchBox(Warp &warp, const Instruction &instruction, const EmulatedTensorMap &map, uint64_t address,
              AccessKind kind) {
  return touch(warp, instruction,
               {Space::sharedCluster, kind, Proxy::async, noLane, address, boxBytes(map), 16}) != nullptr;
}

/// The blocks that a copy writes to and the address there.
std::vector<SharedPlace> destinations(Warp &warp, const Bulk &bulk, const Request &request) {
  const SharedPlace own = sharedPlace(warp, request.to);
  if (!bulk.multicast)
    return {own};
  std::vector<SharedPlace> all;
  for (Block &block : clusterOf(warp).blocks)
    if (request.mask >> block.rank & 1)
      all.push_back({&block, own.address});
  return all;
}

/// Shared address of a place as every block of the cluster sees it.
uint64_t clusterAddress(const SharedPlace &place) { return sharedWindow(place.block->rank) | place.address; }

bool failWith(Warp &warp, const Instruction &instruction, const Error &error) {
  fault(warp, instruction, error.message);
  return false;
}

/// A multicast signals the barrier at the same offset of every block it
/// reaches; for pairs, of the even or the odd block beside each.
SharedPlace barrierFor(Warp &warp, const Instruction &instruction, const Bulk &bulk, const Request &request,
                       const SharedPlace &to) {
  SharedPlace barrier = sharedPlace(warp, request.barrier);
  if (bulk.multicast && bulk.ctaGroup == 2)
    barrier.block = &clusterOf(warp).blocks[(to.block->rank & ~1u) | (barrier.block->rank & 1)];
  else if (bulk.multicast)
    barrier.block = to.block;
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->completesOn(barrier);
  noteArrival(*barrier.block, barrier.address, warp, instruction);
  return barrier;
}

/// False after a fault.
bool arrive(Warp &warp, const Instruction &instruction, const SharedPlace &barrier, uint64_t bytes) {
  if (!touch(
          warp, instruction,
          {Space::sharedCluster, AccessKind::mbarrier, Proxy::async, noLane, clusterAddress(barrier), 8, 8}))
    return false;
  completeBytes(*barrier.block, barrier.address, uint32_t(bytes));
  return true;
}

/// A box that lies outside altogether is filled without its rows being read, but the map's first bytes are:
/// it faults where there is no memory. An empty tensor has no address and is given some by the launcher.
bool reachesMap(Warp &warp, const Instruction &instruction, const EmulatedTensorMap &map) {
  const MemoryRange *range = gridOf(warp).memory->find(map.globalAddress);
  if ((range && range->reachable) || map.globalAddress == 0)
    return true;
  fault(warp, instruction,
        fmt::format("the box is completely outside the tensor, so the hardware reads the first bytes at "
                    "the address of the tensor map, but there is no memory at {:#x}",
                    map.globalAddress));
  return false;
}

/// The map of the memory itself, whose rows these are.
EmulatedTensorMap inMemory(const Warp &warp, EmulatedTensorMap map, const std::vector<ByteRange> &rows) {
  const MemoryRange *range = rows.empty() ? nullptr : gridOf(warp).memory->find(rows.front().address);
  map.globalAddress += range ? range->toMemory : 0;
  return map;
}

bool runTensor(Warp &warp, const Instruction &instruction, const Bulk &bulk, const Request &request) {
  const BoxCoordinates coordinates = request.coordinates;
  std::vector<ByteRange> ranges;
  boxGlobalRanges(request.map, coordinates, bulk.to == Space::global ? BoxUse::store : BoxUse::load, ranges);
  if (bulk.to == Space::global) {
    const SharedPlace from = sharedPlace(warp, request.from);
    if (!touchBox(warp, instruction, request.map, request.from, AccessKind::read) ||
        !touchRanges(warp, instruction, ranges, bulk.reduction ? AccessKind::atomic : AccessKind::write))
      return false;
    constexpr Reduction reductions[] = {Reduction::add,   Reduction::min,   Reduction::max,
                                        Reduction::inc,   Reduction::dec,   Reduction::bitAnd,
                                        Reduction::bitOr, Reduction::bitXor};
    if (bulk.reduction)
      if (auto known = checkReduction(reductions[size_t(*bulk.reduction)], request.map.element); !known)
        return failWith(warp, instruction, known.error());
    const EmulatedTensorMap map = inMemory(warp, request.map, ranges);
    auto done = bulk.reduction ? reduceBox(map, reductions[size_t(*bulk.reduction)], coordinates,
                                           from.block->shared(), from.address)
                               : storeBox(map, coordinates, from.block->shared(), from.address);
    return done ? true : failWith(warp, instruction, done.error());
  }
  barrierFor(warp, instruction, bulk, request,
             destinations(warp, bulk, request).front()); // when the read is over
  if (!touchRanges(warp, instruction, ranges, AccessKind::read) ||
      (ranges.empty() && !reachesMap(warp, instruction, request.map)))
    return false;
  const EmulatedTensorMap map = inMemory(warp, request.map, ranges);
  for (const SharedPlace &to : destinations(warp, bulk, request)) {
    const SharedPlace barrier = barrierFor(warp, instruction, bulk, request, to);
    if (!touchBox(warp, instruction, request.map, clusterAddress(to), AccessKind::write))
      return false;
    if (auto done = loadBox(map, coordinates, to.block->shared(), to.address); !done)
      return failWith(warp, instruction, done.error());
    if (!arrive(warp, instruction, barrier, boxBytes(request.map)))
      return false;
  }
  return true;
}

bool runBytes(Warp &warp, const Instruction &instruction, const Bulk &bulk, const Request &request) {
  // A source in shared memory is free again when the bytes have arrived.
  if (bulk.barrier)
    barrierFor(warp, instruction, bulk, request, sharedPlace(warp, request.to));
  const std::byte *from =
      touch(warp, instruction,
            {bulk.from, AccessKind::read, Proxy::async, noLane, request.from, request.bytes, 16});
  if (!from)
    return false;
  std::vector<uint64_t> targets;
  std::vector<SharedPlace> places;
  if (bulk.to == Space::global) {
    targets = {request.to};
  } else {
    places = destinations(warp, bulk, request);
    for (const SharedPlace &place : places)
      targets.push_back(clusterAddress(place));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    const AccessKind kind = bulk.reduction ? AccessKind::atomic : AccessKind::write;
    const SharedPlace barrier =
        bulk.barrier ? barrierFor(warp, instruction, bulk, request, places[i]) : SharedPlace();
    std::byte *to = touch(warp, instruction,
                          {bulk.to == Space::global ? Space::global : Space::sharedCluster, kind,
                           Proxy::async, noLane, targets[i], request.bytes, 16});
    if (!to)
      return false;
    if (bulk.reduction) {
      const unsigned size = sizeInBytes(bulk.type);
      for (uint64_t at = 0; at + size <= request.bytes; at += size) {
        uint64_t operand = 0;
        std::memcpy(&operand, from + at, size);
        updateAtomically(to + at, *bulk.reduction, bulk.type, operand, 0, Subnormals::keep);
      }
    } else {
      std::memmove(to, from, request.bytes);
    }
    if (bulk.barrier && !arrive(warp, instruction, barrier, request.bytes))
      return false;
  }
  return true;
}

/// The barrier of a tensor copy is in the block that it writes to, or in its pair.
bool checkBarrierBlock(Warp &warp, const Instruction &instruction, const Bulk &bulk, const Request &request) {
  const SharedPlace barrier = sharedPlace(warp, request.barrier), to = sharedPlace(warp, request.to);
  if (const size_t blocks = clusterOf(warp).blocks.size(); bulk.ctaGroup == 2 && blocks % 2 != 0) {
    fault(warp, instruction,
          fmt::format(".cta_group::2 needs pairs of blocks, but the cluster has {}", blocks));
    return false;
  }
  if (!to.block || bulk.multicast || barrier.block->rank / bulk.ctaGroup == to.block->rank / bulk.ctaGroup)
    return true;
  fault(warp, instruction,
        fmt::format("the copy writes to block rank {}, but its mbarrier is in rank {}{}", to.block->rank,
                    barrier.block->rank,
                    bulk.ctaGroup == 1 ? "; .cta_group::2 lets it be in the other block of the pair"
                                       : ", which is no block of the pair"));
  return false;
}

/// Whether some lanes issue the same, as whole warps do.
bool isUniform(const Warp &warp, uint32_t active, const Instruction &instruction) {
  const unsigned first = unsigned(std::countr_zero(active));
  return std::all_of(instruction.slots, instruction.slots + instruction.slotCount, [&](const Slot &slot) {
    const std::byte *values = warp.read(slot);
    for (uint32_t left = active; left != 0; left &= left - 1)
      if (std::memcmp(values + first * slot.bytes, values + size_t(std::countr_zero(left)) * slot.bytes,
                      slot.bytes) != 0)
        return false;
    return true;
  });
}

/// Reads the operands of each active lane and queues its operation.
Step issueBulk(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Bulk &bulk = instruction.payloadAs<Bulk>();
  const Slot *slots = instruction.slots;
  const LaneAddresses64 to = laneAddresses(warp, instruction, slots[slotTo], bulk.toOffset),
                        from = laneAddresses(warp, instruction, slots[slotFrom], bulk.fromOffset),
                        barriers = laneAddresses(warp, instruction, slots[slotBarrier], bulk.barrierOffset);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    auto request = std::make_shared<Request>();
    request->to = to.lane[l], request->from = from.lane[l];
    request->barrier = barriers.lane[l] & 0xFFFFFFFF; // of a generic address too
    request->bytes = lanesOf<uint32_t>(warp, slots[slotBytes])[l];
    request->mask = lanesOf<uint16_t>(warp, slots[slotMask])[l];
    if (bulk.multicast && (request->mask == 0 || request->mask >> clusterOf(warp).blocks.size() != 0))
      return fault(warp, instruction,
                   fmt::format("the multicast mask {:#x} does not fit the cluster of {} blocks",
                               request->mask, clusterOf(warp).blocks.size()));
    if (bulk.rank == 0 && request->bytes % 16 != 0)
      return fault(warp, instruction, fmt::format("{} bytes are not a multiple of 16", request->bytes));
    if (bulk.barrier && !findMbarrier(warp, instruction, Space::sharedCluster, l, request->barrier,
                                      MbarrierState::initialised)
                             .block)
      return Step::fault;
    if (bulk.rank != 0 && bulk.barrier && !checkBarrierBlock(warp, instruction, bulk, *request))
      return Step::fault;
    if (bulk.rank != 0) {
      for (unsigned i = 0; i < bulk.rank; ++i)
        request->coordinates[i] = lanesOf<int32_t>(warp, slots[slotCoordinates + i])[l];
      for (unsigned i = bulk.rank; bulk.im2col && i < 2 * bulk.rank - 2; ++i)
        request->coordinates[i] = lanesOf<uint16_t>(warp, slots[slotCoordinates + i])[l];
      const uint64_t address = bulk.to == Space::global ? request->to : request->from;
      const std::byte *bytes =
          touch(warp, instruction, {Space::generic, AccessKind::read, Proxy::tensorMap, l, address, 128, 64});
      if (!bytes)
        return Step::fault;
      auto map = decodeTensorMap(std::span<const std::byte, 128>(bytes, 128));
      if (!map)
        return fault(warp, instruction, map.error().message);
      if (map->rank != bulk.rank)
        return fault(
            warp, instruction,
            fmt::format("the tensor map has {} dimensions, the instruction {}", map->rank, bulk.rank));
      if (map->im2col.has_value() != bulk.im2col)
        return fault(warp, instruction,
                     fmt::format("the tensor map is in {} mode, the instruction in {} mode",
                                 map->im2col ? "im2col" : "tile", bulk.im2col ? "im2col" : "tile"));
      if (auto valid = checkCoordinates(*map, request->coordinates,
                                        bulk.to == Space::global ? BoxUse::store : BoxUse::load);
          !valid)
        return fault(warp, instruction, valid.error().message);
      // Before anybody goes through all of its rows.
      if (boxBytes(*map) > warp.block->sharedEnd - sharedBase)
        return fault(
            warp, instruction,
            fmt::format("the box of the tensor map has {} bytes, the block {} bytes of shared memory",
                        boxBytes(*map), warp.block->sharedEnd - sharedBase));
      request->map = *map;
    }
    auto operation = std::make_shared<AsyncOperation>();
    operation->warp = &warp;
    operation->instruction = &instruction;
    operation->run = [&warp, &instruction, &bulk, request] {
      return bulk.rank != 0 ? runTensor(warp, instruction, bulk, *request)
                            : runBytes(warp, instruction, bulk, *request);
    };
    const bool toShared = bulk.to != Space::global;
    operation->work = {.unit = !toShared                    ? AsyncWork::Unit::store
                               : bulk.from == Space::global ? AsyncWork::Unit::load
                                                            : AsyncWork::Unit::remote,
                       .bytes = uint32_t(bulk.rank != 0 ? boxBytes(request->map) : request->bytes),
                       .blocks = bulk.multicast ? request->mask : 0,
                       .globalAddress = bulk.rank != 0 ? request->map.globalAddress
                                        : toShared     ? request->from
                                                       : request->to,
                       .sharedAddress = uint32_t(toShared ? request->to : request->from)};
    if (Observer *observer = clusterOf(warp).observer.get()) {
      const bool uniform = isUniform(warp, active, instruction);
      operation->note = bulk.barrier
                            ? observer->issueOnMbarrier(warp, instruction, l, uniform)
                            : observer->issueCopy(warp, instruction, AsyncEngine::bulk, 1u << l, uniform);
    }
    clusterOf(warp).queue.push(operation);
    if (!bulk.barrier)
      warp.asyncGroups[size_t(AsyncEngine::bulk)].add(std::move(operation), 1u << l);
  }
  ++clusterOf(warp).progress;
  return Step::next;
}

// --- decoding -------------------------------------------------------------------------------

/// The two spaces after the name, destination first.
bool takeSpaces(Decoder &d, Bulk &bulk) {
  auto next = [&]() -> std::optional<Space> {
    return d.takeOneOf<Space>({{"global", Space::global},
                               {"shared::cta", Space::shared},
                               {"shared::cluster", Space::sharedCluster}});
  };
  const auto to = next(), from = next();
  if (!to || !from)
    return false;
  bulk.to = *to, bulk.from = *from;
  return true;
}

/// Modes of a tensor copy beside .tile and .im2col; true where the instruction has one.
bool refuseOtherModes(Decoder &d) {
  for (std::string_view mode :
       {"im2col::w", "im2col::w::128", "im2col_no_offs", "tile::gather4", "tile::scatter4"})
    if (d.take(mode)) {
      d.fail("'{}' is not emulated: .{}", d.at().fullName(), mode);
      return true;
    }
  return false;
}

void decodePrefetch(Decoder &d) {
  d.take("tensor");
  if (refuseOtherModes(d))
    return;
  takeCacheHints(d);
  d.ignore({"1d", "2d", "3d", "4d", "5d", "tile", "im2col", "global", "L2"});
  d.emit([](Warp &, uint32_t, const Instruction &) { return Step::next; }, {});
}

} // namespace

std::optional<BulkOperands> bulkOperandsOf(Warp &warp, const Instruction &instruction, unsigned lane) {
  if (instruction.eval != issueBulk)
    return std::nullopt;
  const Bulk &bulk = instruction.payloadAs<Bulk>();
  const Slot *slots = instruction.slots;
  BulkOperands operands = {.to = laneAddresses(warp, instruction, slots[slotTo], bulk.toOffset).lane[lane],
                           .from =
                               laneAddresses(warp, instruction, slots[slotFrom], bulk.fromOffset).lane[lane],
                           .toGlobal = bulk.to == Space::global,
                           .fromGlobal = bulk.from == Space::global,
                           .combines = bulk.reduction.has_value()};
  if (bulk.rank == 0)
    return operands;
  for (unsigned i = 0; i < bulk.rank; ++i)
    operands.coordinates[i] = lanesOf<int32_t>(warp, slots[slotCoordinates + i])[lane];
  for (unsigned i = bulk.rank; bulk.im2col && i < 2 * bulk.rank - 2; ++i)
    operands.coordinates[i] = lanesOf<uint16_t>(warp, slots[slotCoordinates + i])[lane];
  const uint64_t address = operands.toGlobal ? operands.to : operands.from;
  const std::byte *bytes =
      touch(warp, instruction, {Space::generic, AccessKind::read, Proxy::tensorMap, lane, address, 128, 64});
  if (!bytes)
    return std::nullopt;
  auto map = decodeTensorMap(std::span<const std::byte, 128>(bytes, 128));
  if (!map)
    return std::nullopt;
  operands.map = *map;
  return operands;
}

void decodeBulkReduction(Decoder &d) {
  std::optional<AtomicOp> op;
  for (std::string_view word : {"add", "min", "max", "inc", "dec", "and", "or", "xor"})
    if (d.take(word)) {
      op = parseAtomicOp(word);
      break;
    }
  if (!op)
    return d.fail("'{}' lacks an operation", d.at().fullName());
  decodeBulk(d, op);
}

void decodeBulk(Decoder &d, std::optional<AtomicOp> reduction) {
  if (d.take("commit_group"))
    return emitBulkCommit(d);
  if (d.take("wait_group"))
    return emitBulkWait(d);
  if (d.take("prefetch"))
    return decodePrefetch(d);
  Bulk bulk;
  bulk.reduction = reduction;
  d.kernel.globalGranule = 1; // boxes end anywhere
  const bool tensor = d.take("tensor");
  if (tensor) {
    bulk.rank = d.takeOneOf<unsigned>({{"1d", 1}, {"2d", 2}, {"3d", 3}, {"4d", 4}, {"5d", 5}}).value_or(0);
    if (bulk.rank == 0)
      return d.fail("'{}' lacks its number of dimensions", d.at().fullName());
    if (refuseOtherModes(d))
      return;
    bulk.im2col = d.take("im2col");
    if (!bulk.im2col)
      d.take("tile");
  }
  if (!takeSpaces(d, bulk))
    return d.fail("'{}' needs two state spaces", d.at().fullName());
  bulk.barrier = d.take("mbarrier::complete_tx::bytes");
  if (!bulk.barrier && !d.take("bulk_group"))
    return d.fail("'{}' needs .mbarrier::complete_tx::bytes or .bulk_group", d.at().fullName());
  bulk.multicast = d.take("multicast::cluster");
  if (tensor && bulk.barrier)
    bulk.ctaGroup = d.takeOneOf<unsigned>({{"cta_group::1", 1}, {"cta_group::2", 2}}).value_or(1);
  takeCacheHints(d);
  if (d.take("cp_mask"))
    return d.fail("'{}' is not emulated: masks of bytes", d.at().fullName());
  if (bulk.im2col && bulk.rank < TmaFacts().minIm2colRank)
    return d.fail("'{}' needs {} dimensions at least", d.at().fullName(), TmaFacts().minIm2colRank);
  if (bulk.im2col && bulk.to == Space::global)
    return d.fail("'{}' has .im2col, which is of loads", d.at().fullName());
  if (bulk.barrier != (bulk.to != Space::global))
    return d.fail("'{}' cannot complete this way", d.at().fullName());
  if (reduction && !tensor) {
    d.take("noftz");
    bulk.type = d.type();
    if (!hasAtomic(*reduction, bulk.type))
      return d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(bulk.type));
  }
  // [dst], [src], {bytes,} {[barrier]}, {offsets}, {mask}, {policy}; a tensor has no bytes.
  const size_t fixed = 2 + !tensor + bulk.barrier + bulk.im2col + bulk.multicast;
  d.expectOperands(fixed, fixed + 1);
  size_t next = 2;
  const AddressOperand to = d.address(0), from = d.address(1);
  std::vector<Slot> slots{to.base, from.base};
  bulk.toOffset = to.offset, bulk.fromOffset = from.offset;
  slots.push_back(tensor ? d.constant(0, 4) : d.in(next++, Type::b32));
  if (bulk.barrier) {
    const AddressOperand barrier = d.address(next++);
    bulk.barrierOffset = barrier.offset;
    slots.push_back(barrier.base);
  } else {
    slots.push_back(d.constant(0, 8));
  }
  const size_t offsets = next;
  next += bulk.im2col;
  slots.push_back(bulk.multicast ? d.in(next, Type::b16) : d.constant(0, 2));
  if (tensor) {
    const Operand &address = d.operand(bulk.to == Space::global ? 0 : 1);
    if (address.elements.size() != 2 || address.elements[1].elements.size() != bulk.rank)
      return d.fail("'{}' needs a tensor map and {} coordinates", d.at().fullName(), bulk.rank);
    for (const Operand &coordinate : address.elements[1].elements)
      slots.push_back(d.in(coordinate, Type::b32));
  }
  if (bulk.im2col) {
    const Operand &operand = d.operand(offsets);
    if (operand.elements.size() != bulk.rank - 2)
      return d.fail("'{}' needs {} offsets", d.at().fullName(), bulk.rank - 2);
    for (const Operand &offset : operand.elements)
      slots.push_back(d.in(offset, Type::b16));
  }
  d.emitWith(issueBulk, slots, bulk);
}

} // namespace tlc::emulator
