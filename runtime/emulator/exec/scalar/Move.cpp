// SPDX-License-Identifier: Apache-2.0
/// \file
/// mov, selp and slct.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/decode/TypeDispatch.h"

namespace tlc::emulator {

namespace {

template <class T> Step select(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<T> a = lanesOf<T>(warp, instruction.slots[1]), b = lanesOf<T>(warp, instruction.slots[2]);
  const uint32_t choice = warp.predicate(instruction.slots[3]);
  alignas(64) T results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    results[l] = choice >> l & 1 ? a[l] : b[l];
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

template <class T> struct Move {
  T operator()(T a) const { return a; }
};

void decodeSelp(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(4);
  if (!withBits(type, [&](auto t) {
        d.emit(select<decltype(t)>, {d.out(0, type), d.in(1, type), d.in(2, type), d.in(3, Type::pred)});
      }))
    failForType(d, type);
}

/// slct: the third operand's sign chooses.
template <class T> struct ChooseBySign {
  T operator()(T a, T b, int32_t c) const { return c >= 0 ? a : b; }
};
template <class T> struct ChooseByFloat {
  T operator()(T a, T b, float c) const { return c >= 0 ? a : b; }
};
template <class T> struct ChooseByFlushed {
  T operator()(T a, T b, float c) const { return c > -0x1p-126f ? a : b; }
};

void decodeSlct(Decoder &d) {
  const bool flush = d.take("ftz");
  const Type type = d.type(), by = d.type();
  d.expectOperands(4);
  if ((by != Type::s32 && by != Type::f32) || !withBits(type, [&](auto t) {
        using T = decltype(t);
        d.emit(by == Type::s32 ? mapLanes<ChooseBySign<T>, T, T, T, int32_t>
               : flush         ? mapLanes<ChooseByFlushed<T>, T, T, T, float>
                               : mapLanes<ChooseByFloat<T>, T, T, T, float>,
               {d.out(0, type), d.in(1, type), d.in(2, type), d.in(3, by)});
      }))
    failForType(d, type);
}

Step movePredicate(Warp &warp, uint32_t active, const Instruction &instruction) {
  warp.setPredicate(instruction.slots[0], active, warp.predicate(instruction.slots[1]));
  return Step::next;
}

Step moveWide(Warp &warp, uint32_t active, const Instruction &instruction) {
  for (unsigned half = 0; half < 2; ++half) {
    const Slot from = instruction.slots[1], to = instruction.slots[0];
    uint64_t values[warpSize];
    std::memcpy(values, warp.read(from) + half * sizeof(values), sizeof(values));
    store(warp, {uint32_t(to.offset + half * sizeof(values)), 8, false}, active, values);
  }
  return Step::next;
}

struct Parts {
  uint8_t count = 0;
  uint8_t bytes = 0; ///< of each part
};

/// A lane of a 16-byte register is in two runs of 8 bytes.
size_t laneOffset(unsigned registerBytes, unsigned lane, unsigned byte) {
  return registerBytes == 16 ? (byte / 8) * 256 + lane * 8 + byte % 8 : lane * registerBytes + byte;
}

/// slots: whole, parts...
Step pack(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Parts parts = instruction.payloadAs<Parts>();
  const Slot whole = instruction.slots[0];
  // The destination may be a part's register as well.
  std::byte copy[512];
  const unsigned total = parts.count * parts.bytes;
  for (unsigned i = 0; i < parts.count; ++i) {
    const std::byte *from = warp.read(instruction.slots[1 + i]);
    for (unsigned l = 0; l < warpSize; ++l)
      std::memcpy(copy + laneOffset(total, l, i * parts.bytes), from + l * parts.bytes, parts.bytes);
  }
  std::byte *to = warp.at(whole);
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1)
      for (unsigned byte = 0; byte < total; byte += parts.bytes)
        std::memcpy(to + laneOffset(total, l, byte), copy + laneOffset(total, l, byte), parts.bytes);
  return Step::next;
}

/// slots: whole, parts...
Step unpack(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Parts parts = instruction.payloadAs<Parts>();
  const Slot whole = instruction.slots[0];
  const unsigned total = parts.count * parts.bytes;
  std::byte copy[512];
  std::memcpy(copy, warp.read(whole), total * warpSize);
  for (unsigned i = 0; i < parts.count; ++i) {
    std::byte *to = warp.at(instruction.slots[1 + i]);
    for (unsigned l = 0; l < warpSize; ++l)
      if (active >> l & 1)
        std::memcpy(to + l * parts.bytes, copy + laneOffset(total, l, i * parts.bytes), parts.bytes);
  }
  return Step::next;
}

/// Pairs, which packed arithmetic is full of, as loops that vectorise.
template <class Whole, class Part> struct Join {
  Whole operator()(Part low, Part high) const { return Whole(low) | Whole(high) << (sizeof(Part) * 8); }
};

/// slots: whole, low, high
template <class Whole, class Part>
Step unpackPair(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<Whole> whole = lanesOf<Whole>(warp, instruction.slots[0]);
  alignas(64) Part low[warpSize], high[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    low[l] = Part(whole[l]), high[l] = Part(whole[l] >> (sizeof(Part) * 8));
  store(warp, instruction.slots[1], active, low);
  store(warp, instruction.slots[2], active, high);
  return Step::next;
}

void decodeParts(Decoder &d, Type type, const Operand &whole, const Operand &vector, bool packing) {
  const size_t count = vector.elements.size();
  const unsigned total = sizeInBytes(type);
  if ((count != 2 && count != 4 && count != 8) || total % count != 0 || total / count > 8)
    return d.fail("'{}' cannot take {} elements", d.at().fullName(), count);
  const unsigned bytes = total / unsigned(count);
  const Type part = bitsOf(bytes);
  std::vector<Slot> slots{packing ? d.out(whole, type) : d.in(whole, type)};
  for (const Operand &element : vector.elements)
    slots.push_back(packing ? d.in(element, part) : d.out(element, part));
  if (count == 2 && bytes == 2)
    d.emit(packing ? mapLanes<Join<uint32_t, uint16_t>, uint32_t, uint16_t, uint16_t>
                   : unpackPair<uint32_t, uint16_t>,
           slots);
  else if (count == 2 && bytes == 4)
    d.emit(packing ? mapLanes<Join<uint64_t, uint32_t>, uint64_t, uint32_t, uint32_t>
                   : unpackPair<uint64_t, uint32_t>,
           slots);
  else
    d.emitWith(packing ? pack : unpack, slots, Parts{uint8_t(count), uint8_t(bytes)});
}

void decodeMov(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(2);
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (from.kind == Operand::Kind::vector)
    return decodeParts(d, type, to, from, true);
  if (to.kind == Operand::Kind::vector)
    return decodeParts(d, type, from, to, false);
  if (from.kind == Operand::Kind::symbol && to.kind == Operand::Kind::reg)
    if (auto special = findSpecialRegister(from.name); special && special->bytes == sizeInBytes(type)) {
      d.emitSpecial(*special, d.out(to, type));
      return;
    }
  const Slot slots[] = {d.out(to, type), d.in(from, type)};
  if (type == Type::pred)
    d.emit(movePredicate, slots);
  else if (type == Type::b128)
    d.emit(moveWide, slots);
  else
    withBits(type, [&](auto t) {
      using T = decltype(t);
      d.emit(mapLanes<Move<T>, T, T>, slots);
    });
}

constexpr DecodeEntry entries[] = {
    {"mov", decodeMov},
    {"selp", decodeSelp},
    {"slct", decodeSlct},
};

} // namespace

std::span<const DecodeEntry> moveInstructions() { return entries; }

} // namespace tlc::emulator
