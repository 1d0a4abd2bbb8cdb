// SPDX-License-Identifier: Apache-2.0
/// \file
/// mma.sync: operands in, Mma.h, results out; and what all matrix instructions decode with.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/matrix/MatrixForms.h"

namespace tlc::emulator {

namespace {

/// "m16n8k16" to its three numbers.
bool parseShape(std::string_view word, unsigned &m, unsigned &n, unsigned &k) {
  unsigned *numbers[] = {&m, &n, &k};
  constexpr char letters[] = {'m', 'n', 'k'};
  for (unsigned i = 0; i < 3; ++i) {
    if (word.empty() || word[0] != letters[i])
      return false;
    word.remove_prefix(1);
    *numbers[i] = 0;
    while (!word.empty() && word[0] >= '0' && word[0] <= '9' && *numbers[i] < 1000) {
      *numbers[i] = *numbers[i] * 10 + unsigned(word[0] - '0');
      word.remove_prefix(1);
    }
  }
  return word.empty();
}

struct MmaUse {
  MmaSync mma;
  unsigned a = 0, b = 0, accumulator = 0; ///< slots of each
  MmaRegisters registers;
};

/// slots: d..., a..., b..., c...
Step multiplyWarp(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const MmaUse &use = instruction.payloadAs<MmaUse>();
  const Slot *slots = instruction.slots;
  const std::span<const Slot> d(slots, use.accumulator), a(d.data() + use.accumulator, use.a),
      b(a.data() + use.a, use.b), c(b.data() + use.b, use.accumulator);
  uint32_t valuesA[16 * warpSize], valuesB[16 * warpSize], valuesC[16 * warpSize];
  loadRegisters(warp, a, valuesA);
  loadRegisters(warp, b, valuesB);
  loadRegisters(warp, c, valuesC);
  mmaSync(use.mma, std::span(valuesA, use.registers.a * warpSize),
          std::span(valuesB, use.registers.b * warpSize),
          std::span(valuesC, use.registers.accumulator * warpSize),
          std::span(valuesC, use.registers.accumulator * warpSize));
  storeRegisters(warp, d, valuesC);
  return Step::next;
}

void decodeMma(Decoder &d) {
  MmaUse use;
  if (d.take("sp") || d.take("sp::ordered_metadata"))
    return d.fail("'{}' is not emulated: sparse operands", d.at().fullName());
  d.ignore({"sync", "aligned"});
  unsigned m, n, k;
  if (!takeShape(d, m, n, k))
    return;
  use.mma.m = m, use.mma.n = n, use.mma.k = k;
  if (!d.take("row") || !d.take("col"))
    return d.fail("'{}' needs .row.col", d.at().fullName());
  const auto bits =
      d.takeOneOf<BitProduct>({{"and", BitProduct::conjunction}, {"xor", BitProduct::exclusive}});
  if (bits && !d.take("popc"))
    return d.fail("'{}' needs .popc", d.at().fullName());
  use.mma.bitProduct = bits.value_or(BitProduct::conjunction);
  use.mma.rounding = takeMmaRounding(d);
  use.mma.overflow = d.take("satfinite") ? IntegerOverflow::saturate : IntegerOverflow::wrap;
  const auto accumulator = takeMatrixElement(d), a = takeMatrixElement(d), b = takeMatrixElement(d),
             addend = takeMatrixElement(d);
  if (!accumulator || !a || !b || accumulator != addend || (*a == MatrixElement::b1) != bits.has_value())
    return d.fail("'{}' has a combination of types that does not exist", d.at().fullName());
  use.mma.accumulator = *accumulator, use.mma.a = *a, use.mma.b = *b;
  auto registers = mmaSyncRegisters(use.mma);
  if (!registers)
    return d.fail("{}", registers.error().message);
  use.registers = *registers;
  d.expectOperands(4);
  // f64 elements stand in one 64-bit register each.
  const bool wide = *accumulator == MatrixElement::f64;
  const unsigned divide = wide ? 2 : 1;
  use.a = registers->a / divide, use.b = registers->b / divide,
  use.accumulator = registers->accumulator / divide;
  const Type inType = wide ? Type::f64 : Type::b32, outType = wide ? Type::f64 : Type::b32;
  std::vector<Slot> slots;
  const unsigned counts[] = {use.accumulator, use.a, use.b, use.accumulator};
  for (size_t i = 0; i < 4; ++i) {
    const auto elements = d.elements(d.operand(i));
    if (elements.size() != counts[i])
      return d.fail("operand {} of '{}' has {} registers, but got {}", i, d.at().fullName(), counts[i],
                    elements.size());
    for (const Operand &element : elements)
      slots.push_back(i == 0 ? d.out(element, outType) : d.in(element, inType));
  }
  d.emitWith(multiplyWarp, slots, use);
}

constexpr DecodeEntry entries[] = {{"mma", decodeMma}};

} // namespace

void loadRegisters(const Warp &warp, std::span<const Slot> slots, uint32_t *to) {
  for (const Slot &slot : slots) {
    if (slot.bytes == 8) {
      // An element of two registers, the low word first.
      for (unsigned l = 0; l < warpSize; ++l) {
        const uint64_t value = lanesOf<uint64_t>(warp, slot)[l];
        to[l] = uint32_t(value), to[warpSize + l] = uint32_t(value >> 32);
      }
      to += 2 * warpSize;
    } else {
      std::memcpy(to, warp.read(slot), warpSize * 4);
      to += warpSize;
    }
  }
}

void storeRegisters(Warp &warp, std::span<const Slot> slots, const uint32_t *from) {
  for (const Slot &slot : slots) {
    if (slot.bytes == 8) {
      uint64_t values[warpSize];
      for (unsigned l = 0; l < warpSize; ++l)
        values[l] = uint64_t(from[warpSize + l]) << 32 | from[l];
      std::memcpy(warp.at(slot), values, sizeof(values));
      from += 2 * warpSize;
    } else {
      std::memcpy(warp.at(slot), from, warpSize * 4);
      from += warpSize;
    }
  }
}

std::optional<MatrixElement> matrixElement(Type type) {
  switch (type) {
  case Type::f16:
    return MatrixElement::f16;
  case Type::bf16:
    return MatrixElement::bf16;
  case Type::tf32:
    return MatrixElement::tf32;
  case Type::e4m3:
    return MatrixElement::e4m3;
  case Type::e5m2:
    return MatrixElement::e5m2;
  case Type::s8:
    return MatrixElement::s8;
  case Type::u8:
    return MatrixElement::u8;
  case Type::f32:
    return MatrixElement::f32;
  case Type::s32:
    return MatrixElement::s32;
  case Type::f64:
    return MatrixElement::f64;
  default:
    return std::nullopt;
  }
}

std::optional<MatrixElement> takeMatrixElement(Decoder &d) {
  constexpr std::pair<std::string_view, MatrixElement> narrow[] = {
      {"s4", MatrixElement::s4}, {"u4", MatrixElement::u4}, {"b1", MatrixElement::b1}};
  for (std::string_view word : d.remaining()) {
    for (const auto &[name, element] : narrow)
      if (word == name)
        return d.take(word), element;
    if (parseType(word))
      return matrixElement(d.type());
  }
  return std::nullopt;
}

bool takeShape(Decoder &d, unsigned &m, unsigned &n, unsigned &k) {
  for (std::string_view word : d.remaining())
    if (parseShape(word, m, n, k))
      return d.take(word);
  d.fail("'{}' lacks its shape", d.at().fullName());
  return false;
}

Rounding takeMmaRounding(Decoder &d) {
  return d
      .takeOneOf<Rounding>({{"rn", Rounding::nearestEven},
                            {"rz", Rounding::towardZero},
                            {"rm", Rounding::down},
                            {"rp", Rounding::up}})
      .value_or(Rounding::nearestEven);
}

std::span<const DecodeEntry> mmaInstructions() { return entries; }

} // namespace tlc::emulator
