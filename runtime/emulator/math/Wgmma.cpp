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
                   maxColumns = maxWgmmaColumns, unitBytes = 16, rowBytes = 32, maxStored = 32;

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

/// What an operand reads: `lines` are rows of A or columns of B.
struct OperandForm {
  Major major = Major::k;
  unsigned lines = 0;
  unsigned bytes = 0; ///< of a line
};
OperandForm formOf(const Wgmma &instruction, WgmmaOperand operand) {
  return operand == WgmmaOperand::a
             ? OperandForm{instruction.majorA, rowsA, rowBytes}
             : OperandForm{instruction.majorB, instruction.n, instruction.isSparse ? 2 * rowBytes : rowBytes};
}

/// Calls visit(i, j, address) for each 16-byte unit of an operand. K-major: i
/// is a line, j a unit of its bytes. MN-major, of 16 bits: i counts eights of lines, j is k.
template <class Visit>
TLC_WITH_CALLER void visitUnits(const MatrixDescriptor &descriptor, const OperandForm &form, Visit visit) {
  const uint32_t span = swizzleSpan(descriptor.swizzle), spanUnits = span / unitBytes;
  const bool plain = descriptor.swizzle == Swizzle::none;
  const Major major = form.major;
  const unsigned lines = major == Major::k ? form.lines : form.lines / 8,
                 depth = form.bytes / (major == Major::k ? unitBytes : 2);
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
TLC_WITH_CALLER uint64_t gatherShared(const OperandForm &form, uint64_t bits,
                                      std::span<const std::byte> shared, Store store) {
  uint64_t beyond = 0;
  constexpr unsigned perUnit = unitBytes / sizeof(Raw);
  visitUnits(MatrixDescriptor::decode(bits), form,
             [&](unsigned i, unsigned j, uint32_t address) TLC_LAMBDA_WITH_CALLER {
               if (uint64_t(address) + unitBytes > shared.size()) {
                 beyond = beyond ? beyond : uint64_t(address) + 1;
                 return;
               }
               Raw elements[perUnit];
               std::memcpy(elements, shared.data() + address, unitBytes);
               for (unsigned e = 0; e < perUnit; ++e)
                 if (form.major == Major::k)
                   store(i, j * perUnit + e, elements[e]);
                 else
                   store(i * perUnit + e, j, elements[e]);
             });
  return beyond;
}

/// Of a sparse A, the k of each element that is stored; of any other they are all.
struct Places {
  uint8_t k[rowsA][maxStored];
};

template <class Raw>
TLC_WITH_CALLER void gatherRegisters(const WarpgroupRegisters &registers, const Places &places,
                                     RawPanels &panels) {
  constexpr unsigned pack = 4 / sizeof(Raw);
  for (unsigned warp = 0; warp < warps; ++warp)
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned lane = 0; lane < lanes; ++lane) {
        const unsigned row = 16 * warp + lane / 4 + 8 * (r % 2);
        Raw elements[pack];
        std::memcpy(elements, &registers[warp][r * lanes + lane], 4);
        for (unsigned e = 0; e < pack; ++e)
          setA(panels, row, places.k[row][(r / 2 * 4 + lane % 4) * pack + e], elements[e]);
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

/// The metadata of a row's group, four bits.
unsigned pairOf(const Wgmma &instruction, const WarpgroupRegisters &metadata, unsigned row, unsigned group) {
  const std::span<const uint32_t> words = metadata[row / 16];
  const unsigned lane = row % 8 * 4, half = row / 8 % 2;
  if (elementBits(instruction.a) == 8)
    return words[lane + group / 8 * 2 + half] >> group % 8 * 4 & 15;
  return words[lane + 2 * instruction.selector + group / 4] >> (16 * half + group % 4 * 4) & 15;
}

Result<void> readPlaces(const Wgmma &instruction, const WarpgroupRegisters &metadata, Places &places) {
  const unsigned stored = rowBytes * 8 / elementBits(instruction.a);
  if (!instruction.isSparse) {
    for (auto &row : places.k)
      for (unsigned i = 0; i < stored; ++i)
        row[i] = uint8_t(i);
    return {};
  }
  const bool isTf32 = instruction.a == MatrixElement::tf32;
  const unsigned perGroup = isTf32 ? 1 : 2;
  for (unsigned row = 0; row < rowsA; ++row)
    for (unsigned group = 0; group < stored / perGroup; ++group) {
      const unsigned pair = pairOf(instruction, metadata, row, group), low = pair & 3, high = pair >> 2;
      if (isTf32 ? pair != 4 && pair != 14 : low >= high)
        return Error{ErrorKind::execution,
                     fmt::format("wgmma: the metadata of row {}, group {} is {:04b}, but needs {}", row,
                                 group, pair, isTf32 ? "0100 or 1110" : "two places, the smaller one lower")};
      for (unsigned i = 0; i < perGroup; ++i)
        places.k[row][group * perGroup + i] = uint8_t(group * 2 * perGroup + (isTf32   ? low / 2
                                                                              : i == 0 ? low
                                                                                       : high));
    }
  return {};
}

/// As multiplyFloats, where B has infinities or NaN: nothing is multiplied by what is not stored of A.
template <MatrixElement accumulator>
void multiplyStored(const Panels &panels, const Places &places, unsigned n, unsigned stored, SumRules rules,
                    bool keep, const std::array<std::span<uint32_t>, 4> &d) {
  const auto multiply = [&](const RowPanel *a, const ColumnPanel *b, uint32_t *words) TLC_LAMBDA_WITH_CALLER {
    SumPair sums = {};
    if (keep)
      loadSums<accumulator>(words, sums);
    for (unsigned upper = 0; upper < 2; ++upper)
      for (unsigned odd = 0; odd < 2; ++odd)
        for (unsigned lane = 0; lane < sumLanes; ++lane) {
          const size_t row = size_t(a - panels.a + upper) * sumRows + lane / sumColumns;
          float left[maxStored], right[maxStored];
          for (unsigned i = 0; i < stored; ++i) {
            left[i] = a[upper].values[places.k[row][i]][lane];
            right[i] = b[odd].values[places.k[row][i]][lane % sumColumns];
          }
          sums[upper][odd][lane] =
              canonical(sumOfProducts(left, 1, right, 1, stored, sums[upper][odd][lane], rules));
        }
    storeSums<accumulator>(sums, words);
  };
  visitPairs<accumulator>(panels, n, d, multiply);
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

unsigned wgmmaDepth(const Wgmma &instruction) {
  return rowBytes * 8 / elementBits(instruction.a) * (instruction.isSparse ? 2 : 1);
}

Result<unsigned> wgmmaAccumulatorRegisters(const Wgmma &instruction) {
  const auto fail = [&](std::string_view why) -> Result<unsigned> {
    return Error{ErrorKind::invalidArgument,
                 fmt::format("wgmma m64n{}k{} of {} and {} into {}: {}", instruction.n,
                             wgmmaDepth(instruction), toString(instruction.a), toString(instruction.b),
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

/// Whether B has infinities or NaN.
bool hasSpecials(const Panels &panels, unsigned n, unsigned depth) {
  for (unsigned i = 0; i < n / sumColumns; ++i)
    for (unsigned k = 0; k < depth; ++k)
      for (int16_t exponent : panels.b[i].exponents[k])
        if (exponent == specialExponent)
          return true;
  return false;
}

/// What an operand reads beyond shared memory.
struct Beyond {
  std::string_view operand;
  uint64_t descriptor = 0;
  uint64_t address = 0; ///< one past it; 0: all fits
};

template <class Raw>
TLC_WITH_CALLER void compute(const Wgmma &instruction, std::span<const std::byte> shared,
                             const WgmmaOperandA &a, const Places &places, uint64_t descriptorB,
                             ScaleD scaleD, const std::array<std::span<uint32_t>, 4> &d, Beyond &beyond) {
  RawPanels raw;
  if (instruction.isSparse)
    std::memset(raw.a, 0, sizeof(raw.a));
  if (const auto *registers = std::get_if<WarpgroupRegisters>(&a)) {
    gatherRegisters<Raw>(*registers, places, raw);
  } else {
    const auto store = [&](unsigned row, unsigned k, Raw element)
                           TLC_LAMBDA_WITH_CALLER { setA(raw, row, places.k[row][k], element); };
    const uint64_t descriptorA = *std::get_if<uint64_t>(&a);
    beyond = {"a", descriptorA,
              gatherShared<Raw>(formOf(instruction, WgmmaOperand::a), descriptorA, shared, store)};
    if (beyond.address)
      return;
  }
  const auto store = [&](unsigned column, unsigned k, Raw element)
                         TLC_LAMBDA_WITH_CALLER { setB(raw, column, k, element); };
  beyond = {"b", descriptorB,
            gatherShared<Raw>(formOf(instruction, WgmmaOperand::b), descriptorB, shared, store)};
  if (beyond.address)
    return;

  constexpr unsigned stored = rowBytes / sizeof(Raw);
  const unsigned depth = instruction.isSparse ? 2 * stored : stored;
  const float sign = float(instruction.scaleA * instruction.scaleB);
  const SumRules rules = sumRules(elementBits(instruction.a) == 8 ? SumWidth::narrow : SumWidth::wide,
                                  instruction.a, instruction.b, instruction.accumulator);
  Panels panels;
  for (unsigned i = 0; i < panelsA; ++i)
    decodePanel(raw.a[i], instruction.a, depth, rules.leastExponentA, sign, panels.a[i]);
  for (unsigned i = 0; i < instruction.n / sumColumns; ++i)
    decodePanel(raw.b[i], instruction.b, depth, rules.leastExponentB, panels.b[i]);
  const bool keep = scaleD == ScaleD::one;
  if (instruction.isSparse && hasSpecials(panels, instruction.n, depth)) {
    if (instruction.accumulator == MatrixElement::f16)
      return multiplyStored<MatrixElement::f16>(panels, places, instruction.n, stored, rules, keep, d);
    return multiplyStored<MatrixElement::f32>(panels, places, instruction.n, stored, rules, keep, d);
  }
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
                   uint64_t descriptorB, ScaleD scaleD, const std::array<std::span<uint32_t>, 4> &d,
                   const WarpgroupRegisters &metadata) {
  assert(wgmmaAccumulatorRegisters(instruction) && "checked when the instruction was decoded");
  Places places;
  if (auto read = readPlaces(instruction, metadata, places); !read)
    return read;
  Beyond beyond;
  runVectorised([&] {
    switch (elementBits(instruction.a)) {
    case 8:
      return compute<uint8_t>(instruction, shared, a, places, descriptorB, scaleD, d, beyond);
    case 16:
      return compute<uint16_t>(instruction, shared, a, places, descriptorB, scaleD, d, beyond);
    default:
      return compute<uint32_t>(instruction, shared, a, places, descriptorB, scaleD, d, beyond);
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
  // Units arrive out of order; one bit each for the 18-bit address space sorts them.
  constexpr unsigned units = (1u << 18) / unitBytes;
  std::array<uint64_t, units / 64> touched = {};
  visitUnits(MatrixDescriptor::decode(descriptor), formOf(instruction, operand),
             [&](unsigned, unsigned, uint32_t address) {
               touched[address / unitBytes / 64] |= uint64_t(1) << address / unitBytes % 64;
             });
  for (unsigned word = 0; word < touched.size(); ++word)
    for (uint64_t bits = touched[word]; bits; bits &= bits - 1)
      appendRange(ranges, (word * 64 + unsigned(std::countr_zero(bits))) * unitBytes, unitBytes);
}

bool isSurelyWithin(const Wgmma &instruction, WgmmaOperand operand, uint64_t bits, uint32_t begin,
                    uint32_t end) {
  const MatrixDescriptor descriptor = MatrixDescriptor::decode(bits);
  const bool plain = descriptor.swizzle == Swizzle::none;
  const OperandForm form = formOf(instruction, operand);
  // Units of a line, and eights of k, after the first.
  const uint64_t span = swizzleSpan(descriptor.swizzle), spanUnits = span / unitBytes,
                 groups = form.lines / 8, steps = form.bytes / unitBytes - 1;
  // The last unit of visitUnits; a swizzle keeps each unit within its line of 128 bytes.
  uint64_t last;
  if (form.major == Major::k)
    last = 7 * span + (groups - 1) * descriptor.stride + steps * (plain ? descriptor.leading : unitBytes);
  else if (plain)
    last = (groups - 1) * descriptor.stride + 7 * unitBytes + steps * descriptor.leading;
  else
    last = span - unitBytes + (groups - 1) / spanUnits * descriptor.leading + 7 * span +
           steps * descriptor.stride;
  constexpr uint64_t line = 128;
  return descriptor.start / line * line >= begin && (descriptor.start + last) / line * line + line <= end;
}

} // namespace tlc::emulator
