// SPDX-License-Identifier: Apache-2.0
/// \file
/// wgmma. Operands become float panels once per instruction; the product loop
/// works on the accumulator registers as they are: of a row, the eight columns
/// 8 j to 8 j + 7 are lanes 4 g to 4 g + 3 of two registers, the even columns
/// in one and the odd ones in the other.
#include "runtime/emulator/math/MatrixSum.h"
#include "runtime/target/Hardware.h"

#include <fmt/format.h>

namespace tlc::emulator {
namespace {

constexpr unsigned lanes = lanesPerWarp, warps = warpsPerWarpgroup, rowsA = wgmmaRows,
                   maxColumns = maxWgmmaColumns, unitBytes = 16, rowBytes = 32;

constexpr unsigned panelsA = rowsA / sumRows, maxPanelsB = maxColumns / sumColumns;

struct RawPanels {
  RawPanel a[panelsA], b[maxPanelsB];
};
struct Panels {
  RowPanel a[panelsA];
  ColumnPanel b[maxPanelsB];
};

unsigned swizzleSpan(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::bytes32:
    return 32;
  case Swizzle::bytes64:
    return 64;
  case Swizzle::bytes128:
    return 128;
  case Swizzle::none:
    break;
  }
  return unitBytes;
}

/// Calls visit(i, j, address) for each 16-byte unit of an operand. K-major: i
/// is a row, j the first or second unit of its 32 bytes. MN-major: i counts
/// eights of rows, j is k.
template <class Visit>
TLC_WITH_CALLER void visitUnits(const MatrixDescriptor &descriptor, Major major, unsigned rows, Visit visit) {
  const uint32_t span = swizzleSpan(descriptor.swizzle), spanUnits = span / unitBytes;
  const bool plain = descriptor.swizzle == Swizzle::none;
  const unsigned lines = major == Major::k ? rows : rows / 8, depth = major == Major::k ? 2 : 16;
  for (unsigned i = 0; i < lines; ++i)
    for (unsigned j = 0; j < depth; ++j) {
      uint32_t offset;
      if (major == Major::k)
        offset = i % 8 * span + i / 8 * descriptor.stride + j * (plain ? descriptor.leading : unitBytes);
      else if (plain)
        offset = i * descriptor.stride + j % 8 * unitBytes + j / 8 * descriptor.leading;
      else
        offset = i % spanUnits * unitBytes + i / spanUnits * descriptor.leading + j % 8 * span +
                 j / 8 * descriptor.stride;
      const uint32_t address = (descriptor.start + offset) & 0x3FFFF; // the descriptor's 18 address bits
      visit(i, j, swizzleAddress(descriptor.swizzle, address, descriptor.baseOffset));
    }
}

template <class Raw> TLC_WITH_CALLER void setA(RawPanels &panels, unsigned row, unsigned k, Raw element) {
  panels.a[row / sumRows].set(row % sumRows, k, element);
}
template <class Raw> TLC_WITH_CALLER void setB(RawPanels &panels, unsigned column, unsigned k, Raw element) {
  panels.b[column / 8 * 2 + columnHalf(column)].set(columnPlace(column), k, element);
}

/// Takes an operand from shared memory; store(row or column, k, element). Gives
/// one past the first address that does not fit, or 0.
template <class Raw, class Store>
TLC_WITH_CALLER uint64_t gatherShared(Major major, unsigned rows, uint64_t bits,
                                      std::span<const std::byte> shared, Store store) {
  uint64_t beyond = 0;
  constexpr unsigned perUnit = unitBytes / sizeof(Raw);
  visitUnits(MatrixDescriptor::decode(bits), major, rows,
             [&](unsigned i, unsigned j, uint32_t address) TLC_LAMBDA_WITH_CALLER {
               if (uint64_t(address) + unitBytes > shared.size()) {
                 beyond = beyond ? beyond : uint64_t(address) + 1;
                 return;
               }
               Raw elements[perUnit];
               std::memcpy(elements, shared.data() + address, unitBytes);
               for (unsigned e = 0; e < perUnit; ++e)
                 if (major == Major::k)
                   store(i, j * perUnit + e, elements[e]);
                 else
                   store(i * perUnit + e, j, elements[e]);
             });
  return beyond;
}

template <class Raw>
TLC_WITH_CALLER void gatherRegisters(const WarpgroupRegisters &registers, RawPanels &panels) {
  constexpr unsigned pack = 4 / sizeof(Raw);
  for (unsigned warp = 0; warp < warps; ++warp)
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned lane = 0; lane < lanes; ++lane) {
        Raw elements[pack];
        std::memcpy(elements, &registers[warp][r * lanes + lane], 4);
        for (unsigned e = 0; e < pack; ++e)
          setA(panels, 16 * warp + lane / 4 + 8 * (r % 2), (r / 2 * 4 + lane % 4) * pack + e, elements[e]);
      }
}

/// Calls visit(a, b, words) for each register pair: its panels of A, of B, and the accumulators.
template <MatrixElement accumulator, class Visit>
TLC_WITH_CALLER void visitPairs(const Panels &panels, unsigned n, const std::array<std::span<uint32_t>, 4> &d,
                                Visit visit) {
  constexpr unsigned registers = accumulator == MatrixElement::f16 ? 1 : 2; // of a row's eight columns
  for (unsigned rows = 0; rows < rowsA / 8; ++rows)
    for (unsigned j = 0; j < n / 8; ++j)
      visit(&panels.a[2 * rows], &panels.b[2 * j], &d[rows / 2][(2 * j + rows % 2) * registers * lanes]);
}

/// d = the sums, or with d where it is kept.
template <MatrixElement accumulator>
TLC_WITH_CALLER void multiplyFloats(const Panels &panels, unsigned n, unsigned depth, SumRules rules,
                                    bool keep, const std::array<std::span<uint32_t>, 4> &d) {
  const auto multiply = [&](const RowPanel *a, const ColumnPanel *b, uint32_t *words) TLC_LAMBDA_WITH_CALLER {
    SumPair sums = {};
    if (keep)
      loadSums<accumulator>(words, sums);
    addProducts(a, b, depth, rules, sums);
    storeSums<accumulator>(sums, words);
  };
  visitPairs<accumulator>(panels, n, d, multiply);
}

TLC_WITH_CALLER void multiplyIntegers(const Panels &panels, unsigned n, unsigned depth, bool keep,
                                      IntegerOverflow overflow, const std::array<std::span<uint32_t>, 4> &d) {
  const auto multiply = [&](const RowPanel *a, const ColumnPanel *b, uint32_t *words) TLC_LAMBDA_WITH_CALLER {
    for (unsigned odd = 0; odd < 2; ++odd)
      for (unsigned upper = 0; upper < 2; ++upper, words += sumLanes) {
        const SumFloats sums = sumOfIntegers(a[upper], b[odd], depth);
        for (unsigned lane = 0; lane < sumLanes; ++lane)
          words[lane] = integerResult(keep ? words[lane] : 0, int64_t(sums[lane]), overflow);
      }
  };
  visitPairs<MatrixElement::s32>(panels, n, d, multiply);
}

bool isSupported(const Wgmma &i) {
  const bool toFloat = i.accumulator == MatrixElement::f32, toHalf = i.accumulator == MatrixElement::f16;
  if (isInteger8(i.a) && isInteger8(i.b))
    return i.accumulator == MatrixElement::s32 && i.scaleA == 1 && i.scaleB == 1;
  if (isFloat8(i.a) && isFloat8(i.b))
    return toFloat || toHalf;
  if (i.a != i.b)
    return false;
  if (i.a == MatrixElement::f16)
    return toFloat || toHalf;
  return (i.a == MatrixElement::bf16 || i.a == MatrixElement::tf32) && toFloat;
}

} // namespace

MatrixDescriptor MatrixDescriptor::decode(uint64_t bits) {
  constexpr Swizzle swizzles[] = {Swizzle::none, Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32};
  const auto field = [bits](unsigned low) { return uint32_t(bits >> low & 0x3FFF) << 4; };
  return {field(0), field(16), field(32), uint32_t(bits >> 49 & 7), swizzles[bits >> 62]};
}

uint64_t MatrixDescriptor::encode() const {
  const uint64_t mode = swizzle == Swizzle::none ? 0 : 4 - uint64_t(swizzle);
  const auto field = [](uint32_t bytes, unsigned low) { return uint64_t(bytes >> 4 & 0x3FFF) << low; };
  return field(start, 0) | field(leading, 16) | field(stride, 32) | uint64_t(baseOffset) << 49 | mode << 62;
}

unsigned wgmmaDepth(MatrixElement element) { return rowBytes * 8 / elementBits(element); }

Result<unsigned> wgmmaAccumulatorRegisters(const Wgmma &instruction) {
  const auto fail = [&](std::string_view why) -> Result<unsigned> {
    return Error{ErrorKind::invalidArgument,
                 fmt::format("wgmma m64n{}k{} of {} and {} into {}: {}", instruction.n,
                             wgmmaDepth(instruction.a), toString(instruction.a), toString(instruction.b),
                             toString(instruction.accumulator), why)};
  };
  if (!isSupported(instruction))
    return fail("there is no such combination of types");
  if (instruction.n == 0 || instruction.n > maxColumns || instruction.n % 8 != 0)
    return fail("n must be a multiple of 8 from 8 to 256");
  if (isInteger8(instruction.a) && instruction.n > 24 && instruction.n % 16 != 0)
    return fail("n above 24 must be a multiple of 16 for 8-bit integers");
  if ((instruction.majorA == Major::mn || instruction.majorB == Major::mn) &&
      elementBits(instruction.a) != 16)
    return fail("only 16-bit operands can be transposed");
  if ((instruction.scaleA != 1 && instruction.scaleA != -1) ||
      (instruction.scaleB != 1 && instruction.scaleB != -1))
    return fail(
        fmt::format("scales must be 1 or -1, but are {} and {}", instruction.scaleA, instruction.scaleB));
  return instruction.accumulator == MatrixElement::f16 ? instruction.n / 4 : instruction.n / 2;
}

namespace {

/// What an operand reads beyond shared memory.
struct Beyond {
  std::string_view operand;
  uint64_t descriptor = 0;
  uint64_t address = 0; ///< one past it; 0: all fits
};

template <class Raw>
TLC_WITH_CALLER void compute(const Wgmma &instruction, std::span<const std::byte> shared,
                             const WgmmaOperandA &a, uint64_t descriptorB, ScaleD scaleD,
                             const std::array<std::span<uint32_t>, 4> &d, Beyond &beyond) {
  RawPanels raw;
  if (const auto *registers = std::get_if<WarpgroupRegisters>(&a)) {
    gatherRegisters<Raw>(*registers, raw);
  } else {
    const auto store = [&](unsigned row, unsigned k, Raw element)
                           TLC_LAMBDA_WITH_CALLER { setA(raw, row, k, element); };
    const uint64_t descriptorA = *std::get_if<uint64_t>(&a);
    beyond = {"a", descriptorA, gatherShared<Raw>(instruction.majorA, rowsA, descriptorA, shared, store)};
    if (beyond.address)
      return;
  }
  const auto store = [&](unsigned column, unsigned k, Raw element)
                         TLC_LAMBDA_WITH_CALLER { setB(raw, column, k, element); };
  beyond = {"b", descriptorB,
            gatherShared<Raw>(instruction.majorB, instruction.n, descriptorB, shared, store)};
  if (beyond.address)
    return;

  constexpr unsigned depth = rowBytes / sizeof(Raw);
  const float sign = float(instruction.scaleA * instruction.scaleB);
  const SumRules rules = sumRules(elementBits(instruction.a) == 8 ? SumWidth::narrow : SumWidth::wide,
                                  instruction.a, instruction.b, instruction.accumulator);
  Panels panels;
  for (unsigned i = 0; i < panelsA; ++i)
    decodePanel(raw.a[i], instruction.a, depth, rules.leastExponentA, sign, panels.a[i]);
  for (unsigned i = 0; i < instruction.n / sumColumns; ++i)
    decodePanel(raw.b[i], instruction.b, depth, rules.leastExponentB, panels.b[i]);
  const bool keep = scaleD == ScaleD::one;
  switch (instruction.accumulator) {
  case MatrixElement::f32:
    return multiplyFloats<MatrixElement::f32>(panels, instruction.n, depth, rules, keep, d);
  case MatrixElement::f16:
    return multiplyFloats<MatrixElement::f16>(panels, instruction.n, depth, rules, keep, d);
  default:
    return multiplyIntegers(panels, instruction.n, depth, keep, instruction.overflow, d);
  }
}

} // namespace

Result<void> wgmma(const Wgmma &instruction, std::span<const std::byte> shared, const WgmmaOperandA &a,
                   uint64_t descriptorB, ScaleD scaleD, const std::array<std::span<uint32_t>, 4> &d) {
  assert(wgmmaAccumulatorRegisters(instruction) && "checked when the instruction was decoded");
  Beyond beyond;
  runVectorised([&] {
    switch (elementBits(instruction.a)) {
    case 8:
      return compute<uint8_t>(instruction, shared, a, descriptorB, scaleD, d, beyond);
    case 16:
      return compute<uint16_t>(instruction, shared, a, descriptorB, scaleD, d, beyond);
    default:
      return compute<uint32_t>(instruction, shared, a, descriptorB, scaleD, d, beyond);
    }
  });
  if (beyond.address)
    return Error{
        ErrorKind::execution,
        fmt::format("wgmma: operand {} of descriptor {:#018x} reads {} bytes at {:#x}, beyond the block's "
                    "{} bytes of shared memory",
                    beyond.operand, beyond.descriptor, unitBytes, beyond.address - 1, shared.size())};
  return {};
}

void wgmmaRanges(const Wgmma &instruction, WgmmaOperand operand, uint64_t descriptor,
                 std::vector<ByteRange> &ranges) {
  const bool isA = operand == WgmmaOperand::a;
  // Units arrive out of order; one bit each for the 18-bit address space sorts them.
  constexpr unsigned units = (1u << 18) / unitBytes;
  std::array<uint64_t, units / 64> touched = {};
  visitUnits(MatrixDescriptor::decode(descriptor), isA ? instruction.majorA : instruction.majorB,
             isA ? rowsA : instruction.n, [&](unsigned, unsigned, uint32_t address) {
               touched[address / unitBytes / 64] |= uint64_t(1) << address / unitBytes % 64;
             });
  for (unsigned word = 0; word < touched.size(); ++word)
    for (uint64_t bits = touched[word]; bits; bits &= bits - 1)
      appendRange(ranges, (word * 64 + unsigned(std::countr_zero(bits))) * unitBytes, unitBytes);
}

bool isSurelyWithin(const Wgmma &instruction, WgmmaOperand operand, uint64_t bits, uint32_t begin,
                    uint32_t end) {
  const MatrixDescriptor descriptor = MatrixDescriptor::decode(bits);
  const bool isA = operand == WgmmaOperand::a, plain = descriptor.swizzle == Swizzle::none;
  const uint64_t span = swizzleSpan(descriptor.swizzle), spanUnits = span / unitBytes,
                 groups = (isA ? rowsA : instruction.n) / 8;
  // The last unit of visitUnits; a swizzle keeps each unit within its line of 128 bytes.
  uint64_t last;
  if ((isA ? instruction.majorA : instruction.majorB) == Major::k)
    last = 7 * span + (groups - 1) * descriptor.stride + (plain ? descriptor.leading : unitBytes);
  else if (plain)
    last = (groups - 1) * descriptor.stride + 7 * unitBytes + descriptor.leading;
  else
    last = span - unitBytes + (groups - 1) / spanUnits * descriptor.leading + 7 * span + descriptor.stride;
  constexpr uint64_t line = 128;
  return descriptor.start / line * line >= begin && (descriptor.start + last) / line * line + line <= end;
}

} // namespace tlc::emulator
