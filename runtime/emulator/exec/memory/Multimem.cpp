// SPDX-License-Identifier: Apache-2.0
/// \file
/// multimem: accesses to the same place in the memory of several devices, by one address (PTX ISA, Data
/// Movement and Conversion Instructions: multimem). Devices come in the order of the range. Sums of f16 and
/// bf16 are rounded once where the instruction says `.acc::f32`, otherwise after each device.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/AtomicOps.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"
#include "runtime/emulator/math/Float.h"

#include <bit>
#include <cstring>

namespace tlc::emulator {

namespace {

struct Multimem {
  AtomicOp op = AtomicOp::add;
  Type type = Type::b32;
  uint8_t count = 1;
  bool roundsOnce = false;
  MemoryOrder order;
  uint64_t bytes() const { return uint64_t(sizeInBytes(type)) * count; }
};

/// The host memory on each device of what a lane accesses; empty after a fault.
std::vector<std::byte *> touchAll(Warp &warp, const Instruction &instruction, AccessKind kind, unsigned lane,
                                  uint64_t address) {
  const Multimem &how = instruction.payloadAs<Multimem>();
  const MulticastRange *range = gridOf(warp).memory->findMulticast(address);
  if (!range || range->bytes - (address - range->address) < how.bytes()) {
    fault(warp, instruction,
          fmt::format("out-of-bounds access of {} bytes by lane {} at address {:#x}, where no multicast "
                      "memory is",
                      how.bytes(), lane, address));
    return {};
  }
  std::vector<std::byte *> all;
  for (uint64_t member : range->members) {
    std::byte *host = touch(warp, instruction,
                            {Space::global, kind, Proxy::multicast, lane, member + (address - range->address),
                             how.bytes(), how.bytes(), how.order.ordering, how.order.scope});
    if (!host)
      return {};
    all.push_back(host);
  }
  return all;
}

uint64_t elementAt(const std::byte *memory, unsigned element, unsigned bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, memory + element * bytes, bytes);
  return bits;
}

/// Of f16, bf16, or a half of a pair of them, in f32.
uint64_t sumRoundedOnce(const std::vector<std::byte *> &all, unsigned offset, FloatFormat format) {
  float sum = -0.0F;
  for (const std::byte *memory : all)
    sum += float(toDouble(format, uint32_t(elementAt(memory + offset, 0, 2))));
  return fromDouble(format, sum);
}

uint64_t reduce(const Multimem &how, const std::vector<std::byte *> &all, unsigned element) {
  const unsigned bytes = sizeInBytes(how.type);
  if (how.roundsOnce) {
    const FloatFormat format =
        how.type == Type::f16 || how.type == Type::f16x2 ? FloatFormat::f16 : FloatFormat::bf16;
    uint64_t bits = 0;
    for (unsigned half = 0; half < bytes / 2; ++half)
      bits |= sumRoundedOnce(all, element * bytes + half * 2, format) << (16 * half);
    return bits;
  }
  uint64_t bits = elementAt(all.front(), element, bytes);
  for (size_t i = 1; i < all.size(); ++i)
    bits = applyAtomic(how.op, how.type, bits, elementAt(all[i], element, bytes), 0, Subnormals::keep);
  return bits;
}

/// slots: address, results...
Step loadReduced(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Multimem &how = instruction.payloadAs<Multimem>();
  const unsigned bytes = sizeInBytes(how.type);
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const std::vector<std::byte *> all = touchAll(warp, instruction, AccessKind::read, l, addresses.lane[l]);
    if (all.empty())
      return Step::fault;
    for (unsigned i = 0; i < how.count; ++i) {
      const uint64_t bits = reduce(how, all, i);
      std::memcpy(warp.at(instruction.slots[1 + i]) + l * bytes, &bits, bytes);
    }
  }
  if (how.order.isStrong())
    return poll(warp, instruction, addresses.lane[std::countr_zero(active)]);
  return Step::next;
}

/// slots: address, sources...
template <AccessKind kind> Step changeAll(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Multimem &how = instruction.payloadAs<Multimem>();
  const unsigned bytes = sizeInBytes(how.type);
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const std::vector<std::byte *> all = touchAll(warp, instruction, kind, l, addresses.lane[l]);
    if (all.empty())
      return Step::fault;
    for (unsigned i = 0; i < how.count; ++i) {
      const std::byte *from = warp.read(instruction.slots[1 + i]) + l * bytes;
      for (std::byte *memory : all) {
        if (kind == AccessKind::write)
          std::memcpy(memory + i * bytes, from, bytes);
        else
          updateAtomically(memory + i * bytes, how.op, how.type, elementAt(from, 0, bytes), 0,
                           Subnormals::keep);
      }
    }
  }
  ++clusterOf(warp).progress;
  return Step::next;
}

/// Those of atom and red that a sum over devices has, but no sums of s64.
bool hasReduction(AtomicOp op, Type type) {
  return op != AtomicOp::inc && op != AtomicOp::dec && op != AtomicOp::exchange &&
         op != AtomicOp::compareSwap && hasAtomic(op, type) && (op != AtomicOp::add || type != Type::s64);
}

enum class Form : uint8_t { loadReduce, store, reduce };

void decodeMultimem(Decoder &d) {
  const std::optional<Form> form =
      d.takeOneOf<Form>({{"ld_reduce", Form::loadReduce}, {"st", Form::store}, {"red", Form::reduce}});
  if (!form)
    return d.fail("'{}' is neither ld_reduce, st nor red", d.at().fullName());
  Multimem how;
  how.order = takeOrdering(d);
  if (*form == Form::reduce && !how.order.isStrong())
    how.order.ordering = AccessOrdering::relaxed;
  if (const Space space = d.space(); space != Space::global && space != Space::generic)
    return d.fail("'{}' accesses another space than .global", d.at().fullName());
  how.roundsOnce = d.take("acc::f32");
  d.ignore({"acc::f16"});
  how.count = uint8_t(d.takeOneOf<unsigned>({{"v2", 2}, {"v4", 4}, {"v8", 8}}).value_or(1));
  if (*form != Form::store) {
    std::optional<AtomicOp> op = d.takeOneOf<AtomicOp>({{"add", AtomicOp::add},
                                                        {"min", AtomicOp::minimum},
                                                        {"max", AtomicOp::maximum},
                                                        {"and", AtomicOp::bitAnd},
                                                        {"or", AtomicOp::bitOr},
                                                        {"xor", AtomicOp::bitXor}});
    if (!op)
      return d.fail("'{}' lacks an operation", d.at().fullName());
    how.op = *op;
  }
  how.type = d.type();
  if (*form != Form::store && !hasReduction(how.op, how.type))
    return d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(how.type));
  if (how.roundsOnce && sizeInBytes(how.type) > 4)
    return d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(how.type));
  how.roundsOnce &= how.op == AtomicOp::add && how.type != Type::f32;
  if (how.bytes() < 4 || how.bytes() > 16)
    return d.fail("'{}' accesses {} bytes, but multimem 4 to 16", d.at().fullName(), how.bytes());
  d.accesses(Space::global, unsigned(how.bytes()));
  const bool loads = *form == Form::loadReduce;
  d.expectOperands(2);
  const AddressOperand address = d.address(loads ? 1 : 0);
  const auto values = d.elements(d.operand(loads ? 0 : 1));
  if (values.size() != how.count)
    return d.fail("'{}' moves {} elements, but got {} registers", d.at().fullName(), how.count,
                  values.size());
  std::vector<Slot> slots{address.base};
  for (const Operand &value : values)
    slots.push_back(loads ? d.out(value, how.type) : d.in(value, how.type));
  const Eval eval = loads                  ? loadReduced
                    : *form == Form::store ? changeAll<AccessKind::write>
                                           : changeAll<AccessKind::atomic>;
  d.emitWith(eval, slots, how).immediate = address.offset;
}

constexpr DecodeEntry entries[] = {{"multimem", decodeMultimem}};

} // namespace

std::span<const DecodeEntry> multimemInstructions() { return entries; }

} // namespace tlc::emulator
