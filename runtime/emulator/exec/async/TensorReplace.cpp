// SPDX-License-Identifier: Apache-2.0
/// \file
/// tensormap.replace and tensormap.cp_fenceproxy: tensor maps that a kernel changes.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"
#include "runtime/emulator/math/TensorMap.h"

#include <atomic>

namespace tlc::emulator {

namespace {

struct Replace {
  TensorField field = TensorField::globalAddress;
  unsigned axis = 0;
  Space space = Space::generic;
};

/// slots: address, value of 8 bytes or 4
Step replace(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Replace &how = instruction.payloadAs<Replace>();
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    std::byte *map = touch(warp, instruction,
                           {how.space, AccessKind::write, Proxy::generic, l, addresses.lane[l],
                            EmulatedTensorMap::encodedBytes, EmulatedTensorMap::encodedBytes});
    if (!map)
      return Step::fault;
    const uint64_t value = instruction.slots[1].bytes == 8 ? lanesOf<uint64_t>(warp, instruction.slots[1])[l]
                                                           : lanesOf<uint32_t>(warp, instruction.slots[1])[l];
    auto done = replaceField(
        std::span<std::byte, EmulatedTensorMap::encodedBytes>(map, EmulatedTensorMap::encodedBytes),
        how.field, how.axis, value);
    if (!done)
      return fault(warp, instruction, done.error().message);
  }
  ++clusterOf(warp).progress;
  return Step::next;
}

/// slots: destination, source. One copy by the warp.
Step copyMap(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const unsigned lane = unsigned(std::countr_zero(active));
  const auto at = [&](unsigned slot, Space space, AccessKind kind) {
    const LaneAddresses64 addresses = laneAddresses(warp, instruction, instruction.slots[slot], 0);
    return touch(warp, instruction,
                 {space, kind, Proxy::generic, lane, addresses.lane[lane], EmulatedTensorMap::encodedBytes,
                  EmulatedTensorMap::encodedBytes});
  };
  const std::byte *from = at(1, Space::shared, AccessKind::read);
  std::byte *to = from ? at(0, Space::global, AccessKind::write) : nullptr;
  if (!to)
    return Step::fault;
  std::memcpy(to, from, EmulatedTensorMap::encodedBytes);
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->releaseMaps(warp, active);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ++clusterOf(warp).progress;
  return Step::next;
}

void decodeReplace(Decoder &d) {
  if (!d.take("tile"))
    return d.fail("'{}' needs .tile", d.at().fullName());
  const auto field = d.takeOneOf<TensorField>({{"global_address", TensorField::globalAddress},
                                               {"rank", TensorField::rank},
                                               {"box_dim", TensorField::box},
                                               {"global_dim", TensorField::dims},
                                               {"global_stride", TensorField::strides},
                                               {"element_stride", TensorField::elementStrides},
                                               {"elemtype", TensorField::element},
                                               {"interleave_layout", TensorField::interleave},
                                               {"swizzle_mode", TensorField::swizzle},
                                               {"swizzle_atomicity", TensorField::swizzleAtomicity},
                                               {"fill_mode", TensorField::fill}});
  if (!field)
    return d.fail("'{}' does not say which field", d.at().fullName());
  Replace how;
  how.field = *field;
  how.space = d.space();
  d.take("b1024");
  const Type type = d.type();
  const bool wide = *field == TensorField::globalAddress || *field == TensorField::strides;
  if (type != (wide ? Type::b64 : Type::b32))
    return d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(type));
  const bool perAxis = *field == TensorField::box || *field == TensorField::dims ||
                       *field == TensorField::strides || *field == TensorField::elementStrides;
  d.expectOperands(perAxis ? 3 : 2);
  const AddressOperand address = d.address(0);
  if (perAxis) {
    const int64_t axis = d.immediate(1), most = *field == TensorField::strides ? 3 : 4;
    if (axis < 0 || axis > most)
      return d.fail("'{}' has axes 0 to {}, but got {}", d.at().fullName(), most, axis);
    how.axis = unsigned(axis);
  }
  d.accesses(how.space, 16);
  d.emitWith(replace, {address.base, d.in(perAxis ? 2 : 1, type)}, how).immediate = address.offset;
}

} // namespace

void decodeTensormap(Decoder &d) {
  if (d.take("replace"))
    return decodeReplace(d);
  if (!d.take("cp_fenceproxy"))
    return d.fail("unknown instruction '{}'", d.at().fullName());
  if (!d.take("global") || !d.take("shared::cta"))
    return d.fail("'{}' copies from .shared::cta to .global", d.at().fullName());
  d.ignore({"tensormap::generic", "release", "cta", "cluster", "gpu", "sys", "sync", "aligned"});
  d.expectOperands(3);
  const AddressOperand to = d.address(0), from = d.address(1);
  if (d.immediate(2) != 128 || to.offset != 0 || from.offset != 0)
    return d.fail("'{}' copies 128 bytes between registers' addresses", d.at().fullName());
  d.accesses(Space::shared, 16);
  d.emit(copyMap, {to.base, from.base});
}

} // namespace tlc::emulator
