// SPDX-License-Identifier: Apache-2.0
/// \file
/// ld and st of every space, and the conversions of addresses.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"

#include <algorithm>
#include <atomic>

namespace tlc::emulator {

namespace {

struct Access {
  Space space = Space::generic;
  uint8_t bytes = 4;         ///< of an element
  uint8_t registerBytes = 4; ///< of its register, not smaller
  uint8_t count = 1;
  bool signExtend = false;
  Proxy proxy = Proxy::generic;
  MemoryOrder order;
};

/// Copies with one host access for the usual sizes, so that blocks on other
/// host threads never see half an element.
void copyElement(std::byte *to, const std::byte *from, unsigned bytes) {
  switch (bytes) {
  case 1:
    std::memcpy(to, from, 1);
    break;
  case 2:
    std::memcpy(to, from, 2);
    break;
  case 4:
    std::memcpy(to, from, 4);
    break;
  case 8:
    std::memcpy(to, from, 8);
    break;
  default:
    std::memcpy(to, from, bytes);
  }
}

/// Element `element` of each lane to its register.
template <unsigned bytes>
void gather(std::byte *to, uint32_t active, const LaneMemory &memory, const Access &access,
            unsigned element) {
  if (memory.contiguous && !access.order.isStrong()) {
    const std::byte *from = memory.lane[0] + element * bytes;
    const unsigned stride = access.count * bytes;
    if (stride == bytes)
      std::memcpy(to, from, warpSize * bytes);
    else
      for (unsigned l = 0; l < warpSize; ++l)
        std::memcpy(to + l * bytes, from + l * stride, bytes);
    return;
  }
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1)
      std::memcpy(to + l * bytes, memory.lane[l] + element * bytes, bytes);
}

/// A register of each of 32 lanes that follow each other in memory to element `element`.
template <unsigned bytes>
void scatter(const std::byte *from, std::byte *to, unsigned count, unsigned element) {
  if (count == 1)
    std::memcpy(to, from, warpSize * bytes);
  else
    for (unsigned l = 0; l < warpSize; ++l)
      std::memcpy(to + (l * count + element) * bytes, from + l * bytes, bytes);
}

/// slots: address, destinations...
Step load(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Access &access = instruction.payloadAs<Access>();
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  const uint64_t total = uint64_t(access.bytes) * access.count;
  LaneMemory memory;
  const Touch each = {.space = access.space,
                      .kind = AccessKind::read,
                      .proxy = access.proxy,
                      .bytes = total,
                      .alignment = total,
                      .ordering = access.order.ordering,
                      .scope = access.order.scope};
  if (!touchLanes(warp, instruction, active, each, addresses, memory))
    return Step::fault;
  for (unsigned i = 0; i < access.count; ++i) {
    std::byte *to = warp.at(instruction.slots[1 + i]);
    if (access.bytes == access.registerBytes && access.bytes == 4) {
      gather<4>(to, active, memory, access, i);
    } else if (access.bytes == access.registerBytes && access.bytes == 8) {
      gather<8>(to, active, memory, access, i);
    } else if (access.bytes == 16) {
      for (unsigned l = 0; l < warpSize; ++l)
        if (active >> l & 1) {
          std::memcpy(to + l * 8, memory.lane[l] + i * 16, 8);
          std::memcpy(to + 256 + l * 8, memory.lane[l] + i * 16 + 8, 8);
        }
    } else {
      for (unsigned l = 0; l < warpSize; ++l) {
        if (!(active >> l & 1))
          continue;
        uint64_t bits = 0;
        copyElement(reinterpret_cast<std::byte *>(&bits), memory.lane[l] + i * access.bytes, access.bytes);
        if (access.signExtend && access.bytes < 8 && bits >> (access.bytes * 8 - 1) & 1)
          bits |= ~uint64_t(0) << (access.bytes * 8);
        copyElement(to + l * access.registerBytes, reinterpret_cast<const std::byte *>(&bits),
                    access.registerBytes);
      }
    }
  }
  if (access.order.isStrong()) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return poll(warp, instruction, addresses.lane[std::countr_zero(active)]);
  }
  return Step::next;
}

/// Lanes that write the same bytes write the same to them.
void checkOverlap(Observer &observer, Warp &warp, uint32_t active, const Instruction &instruction,
                  const LaneAddresses64 &addresses) {
  const Access &access = instruction.payloadAs<Access>();
  const uint64_t total = uint64_t(access.bytes) * access.count;
  std::byte values[warpSize][32];
  for (unsigned l = 0; l < warpSize; ++l)
    for (unsigned i = 0; i < access.count; ++i) {
      const std::byte *from = warp.read(instruction.slots[1 + i]);
      std::memcpy(values[l] + i * access.bytes, from + l * std::min<unsigned>(access.registerBytes, 8),
                  std::min<unsigned>(access.bytes, 8));
      if (access.bytes == 16)
        std::memcpy(values[l] + i * 16 + 8, from + 256 + l * 8, 8);
    }
  for (unsigned a = 0; a < warpSize; ++a)
    for (unsigned b = a + 1; b < warpSize; ++b) {
      // Local addresses are each lane's own.
      if (!(active >> a & active >> b & 1) || Window(addresses.lane[a] >> windowShift) == Window::local)
        continue;
      const uint64_t from = std::max(addresses.lane[a], addresses.lane[b]),
                     to = std::min(addresses.lane[a], addresses.lane[b]) + total;
      if (from < to && std::memcmp(values[a] + (from - addresses.lane[a]),
                                   values[b] + (from - addresses.lane[b]), to - from) != 0)
        return observer.reportOverlap(warp, instruction, a, b, access.space, from);
    }
}

/// slots: address, sources...
Step storeMemory(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Access &access = instruction.payloadAs<Access>();
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  const uint64_t total = uint64_t(access.bytes) * access.count;
  if (access.order.isStrong())
    std::atomic_thread_fence(std::memory_order_seq_cst);
  LaneMemory memory;
  const Touch each = {.space = access.space,
                      .kind = AccessKind::write,
                      .bytes = total,
                      .alignment = total,
                      .ordering = access.order.ordering,
                      .scope = access.order.scope};
  if (!touchLanes(warp, instruction, active, each, addresses, memory))
    return Step::fault;
  if (Observer *observer = clusterOf(warp).observer.get(); observer && observer->takeOverlap())
    checkOverlap(*observer, warp, active, instruction, addresses);
  ++clusterOf(warp).progress;
  const bool whole = memory.contiguous && !access.order.isStrong() && access.bytes == access.registerBytes;
  for (unsigned i = 0; i < access.count; ++i) {
    const std::byte *from = warp.read(instruction.slots[1 + i]);
    if (whole && access.bytes == 4) {
      scatter<4>(from, memory.lane[0], access.count, i);
    } else if (whole && access.bytes == 8) {
      scatter<8>(from, memory.lane[0], access.count, i);
    } else {
      for (unsigned l = 0; l < warpSize; ++l) {
        if (!(active >> l & 1))
          continue;
        std::byte *to = memory.lane[l] + i * access.bytes;
        if (access.bytes == 16) {
          std::memcpy(to, from + l * 8, 8);
          std::memcpy(to + 8, from + 256 + l * 8, 8);
        } else {
          copyElement(to, from + l * access.registerBytes, access.bytes);
        }
      }
    }
  }
  return Step::next;
}

unsigned vectorLength(Decoder &d) {
  return d.takeOneOf<unsigned>({{"v2", 2}, {"v4", 4}, {"v8", 8}}).value_or(1);
}

Access takeAccess(Decoder &d, Type &type) {
  Access access;
  access.order = takeOrdering(d);
  if (d.take("nc"))
    access.proxy = Proxy::readOnly;
  takeCacheHints(d);
  access.space = d.space();
  access.count = uint8_t(vectorLength(d));
  type = d.type();
  access.bytes = uint8_t(sizeInBytes(type));
  access.signExtend = isSigned(type);
  if (access.bytes == 0)
    d.fail("'{}' cannot access predicates", d.at().fullName());
  if (access.bytes * access.count > 32)
    d.fail("'{}' accesses more than 32 bytes", d.at().fullName());
  return access;
}

void access(Decoder &d, size_t addressIndex, size_t valueIndex, bool isLoad) {
  Type type = Type::b32;
  Access access = takeAccess(d, type);
  d.expectOperands(2, 3); // the third is a cache policy
  const AddressOperand address = d.address(addressIndex);
  const auto values = d.elements(d.operand(valueIndex));
  if (values.size() != access.count)
    return d.fail("'{}' moves {} elements, but got {} registers", d.at().fullName(), access.count,
                  values.size());
  std::vector<Slot> slots{address.base};
  unsigned widest = access.bytes;
  for (const Operand &value : values)
    widest = std::max(widest, d.registerBytes(value).value_or(0));
  for (const Operand &value : values) {
    const bool isConstant = !isLoad && value.kind != Operand::Kind::reg; // as wide as the registers beside it
    slots.push_back(isLoad       ? d.outWide(value, type)
                    : isConstant ? d.in(value, widest > access.bytes ? bitsOf(widest) : type)
                                 : d.inWide(value, type));
  }
  access.registerBytes = uint8_t(widest);
  d.accesses(access.space, access.bytes * access.count);
  for (size_t i = 1; i < slots.size(); ++i)
    if (slots[i].bytes != widest && values[i - 1].kind != Operand::Kind::sink)
      return d.fail("'{}' mixes registers of different sizes", d.at().fullName());
  d.emitWith(isLoad ? load : storeMemory, slots, access).immediate = address.offset;
}

// --- addresses ----------------------------------------------------------------------

/// slots: d, a; immediate: what to add, or to take away.
template <class T> struct AddImmediate {
  explicit AddImmediate(const Instruction &instruction) : value(T(instruction.immediate)) {}
  T operator()(T a) const { return a + value; }
  T value;
};

void decodeCvta(Decoder &d) {
  const bool toSpace = d.take("to");
  const Space space = d.space();
  const Type type = d.type();
  d.expectOperands(2);
  Window window = Window::global;
  switch (space) {
  case Space::shared:
  case Space::sharedCluster:
    window = Window::shared;
    break;
  case Space::local:
    window = Window::local;
    break;
  case Space::parameter:
    window = Window::parameter;
    break;
  case Space::global:
  case Space::constant:
    break;
  case Space::generic:
    return d.fail("'{}' lacks a state space", d.at().fullName());
  }
  if (sizeInBytes(type) != 8)
    return d.fail("'{}' needs 64-bit addresses", d.at().fullName());
  const int64_t base = int64_t(windowBase(window));
  d.emit(mapLanesWith<AddImmediate<uint64_t>, uint64_t, uint64_t>, {d.out(0, type), d.in(1, type)},
         toSpace ? -base : base);
}

Step isInSpace(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<uint64_t> address = lanesOf<uint64_t>(warp, instruction.slots[1]);
  uint32_t bits = 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    const Window window = Window(address[l] >> windowShift);
    const uint64_t rank = sharedRank(address[l] & 0xFFFFFFFF, warp.block->rank);
    bool inside = false;
    switch (Space(instruction.immediate)) {
    case Space::shared:
      inside = window == Window::shared && rank == warp.block->rank;
      break;
    case Space::sharedCluster:
      inside = window == Window::shared;
      break;
    case Space::local:
      inside = window == Window::local;
      break;
    case Space::parameter:
      inside = window == Window::parameter;
      break;
    default:
      inside = window == Window::global;
      break;
    }
    bits |= uint32_t(inside) << l;
  }
  warp.setPredicate(instruction.slots[0], active, bits);
  return Step::next;
}

void decodeIsspacep(Decoder &d) {
  const Space space = d.space();
  d.expectOperands(2);
  d.emit(isInSpace, {d.out(0, Type::pred), d.in(1, Type::u64)}, int64_t(space));
}

/// mapa: the same place in the block of another rank. The immediate is the
/// base of the window that the result lies in.
template <class T> Step mapToRank(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<T> address = lanesOf<T>(warp, instruction.slots[1]);
  const In<uint32_t> rank = lanesOf<uint32_t>(warp, instruction.slots[2]);
  T results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l) {
    if (active >> l & 1 && rank[l] >= clusterOf(warp).blocks.size())
      return fault(warp, instruction,
                   fmt::format("rank {} in lane {} is not in the cluster of {} blocks", rank[l], l,
                               clusterOf(warp).blocks.size()));
    const T offset = address[l] & ((T(1) << sharedRankShift) - 1);
    results[l] = T(instruction.immediate) | T(sharedWindow(rank[l])) | offset;
  }
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

void decodeMapa(Decoder &d) {
  const Space space = d.space();
  const Type type = d.type();
  d.expectOperands(3);
  const int64_t base = space == Space::generic ? int64_t(windowBase(Window::shared)) : 0;
  const Slot slots[] = {d.out(0, type), d.in(1, type), d.in(2, Type::u32)};
  if (sizeInBytes(type) == 8)
    d.emit(mapToRank<uint64_t>, slots, base);
  else if (sizeInBytes(type) == 4 && base == 0)
    d.emit(mapToRank<uint32_t>, slots, base);
  else
    d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(type));
}

template <class T> Step rankOf(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<T> address = lanesOf<T>(warp, instruction.slots[1]);
  uint32_t results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    results[l] = uint32_t(sharedRank(uint32_t(address[l]), warp.block->rank));
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

void decodeGetctarank(Decoder &d) {
  d.space();
  const Type type = d.type();
  d.expectOperands(2);
  d.emit(sizeInBytes(type) == 8 ? rankOf<uint64_t> : rankOf<uint32_t>, {d.out(0, Type::u32), d.in(1, type)});
}

/// st.bulk: zeros. slots: address, bytes
Step storeZeros(Warp &warp, uint32_t active, const Instruction &instruction) {
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  const In<uint64_t> sizes = lanesOf<uint64_t>(warp, instruction.slots[1]);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1) || sizes[l] == 0)
      continue;
    if (sizes[l] % 8 != 0)
      return fault(warp, instruction,
                   fmt::format("{} bytes in lane {} are not a multiple of 8", sizes[l], l));
    std::byte *at =
        touch(warp, instruction,
              {Space::shared, AccessKind::write, Proxy::generic, l, addresses.lane[l], sizes[l], 8});
    if (!at)
      return Step::fault;
    std::memset(at, 0, sizes[l]);
  }
  ++clusterOf(warp).progress;
  return Step::next;
}

void decodeStoreBulk(Decoder &d) {
  d.ignore({"bulk", "weak"});
  const Space space = d.space();
  d.expectOperands(3);
  if (space != Space::shared || d.immediate(2) != 0)
    return d.fail("'{}' stores zeros to .shared::cta", d.at().fullName());
  d.accesses(Space::shared, 8);
  const AddressOperand address = d.address(0);
  d.emit(storeZeros, {address.base, d.in(1, Type::b64)}, address.offset);
}

constexpr DecodeEntry entries[] = {
    {"ld", [](Decoder &d) { access(d, 1, 0, true); }},
    {"ldu", [](Decoder &d) { access(d, 1, 0, true); }},
    {"st",
     [](Decoder &d) {
       // Stores that complete late, but for those to global memory, which nobody can wait for.
       const auto &left = d.remaining();
       const bool mmio = std::find(left.begin(), left.end(), "mmio") != left.end();
       if (std::find(left.begin(), left.end(), "bulk") != left.end())
         return decodeStoreBulk(d);
       if (d.take("async") && !mmio)
         return decodeStoreAsync(d);
       access(d, 0, 1, false);
     }},
    {"cvta", decodeCvta},
    {"isspacep", decodeIsspacep},
    {"mapa", decodeMapa},
    {"getctarank", decodeGetctarank},
    {"prefetch", decodeHint},
    {"prefetchu", decodeHint},
    {"discard", decodeHint},
    {"applypriority", decodeHint},
    {"createpolicy", decodeCreatePolicy},
    {"tensormap", decodeTensormap},
};

} // namespace

MemoryOrder takeOrdering(Decoder &d) {
  MemoryOrder order;
  if (d.take("volatile")) // PTX ISA, "ld": as relaxed.sys
    order = {AccessOrdering::relaxed, Scope::sys};
  d.ignore({"weak", "mmio"});
  if (auto ordering = d.takeOneOf<AccessOrdering>({{"relaxed", AccessOrdering::relaxed},
                                                   {"acquire", AccessOrdering::acquire},
                                                   {"release", AccessOrdering::release},
                                                   {"acq_rel", AccessOrdering::acquireRelease}}))
    order.ordering = *ordering;
  if (auto scope = d.takeOneOf<Scope>(
          {{"cta", Scope::cta}, {"cluster", Scope::cluster}, {"gpu", Scope::gpu}, {"sys", Scope::sys}}))
    order.scope = *scope;
  return order;
}

std::span<const DecodeEntry> memoryInstructions() { return entries; }

} // namespace tlc::emulator
