// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the 16-byte units of a matrix in shared memory lie that a descriptor
/// of tcgen05 names.
#pragma once

#include "runtime/emulator/math/MatrixElements.h"
#include "runtime/emulator/math/TensorMma.h"

#include <array>
#include <bit>

namespace tlc::emulator {

inline constexpr unsigned unitBytes = 16;
/// Descriptors have 18 bits of an address.
inline constexpr uint32_t descriptorBytes = 1u << 18;

/// The exclusive-or of address bits that a swizzle makes.
inline uint32_t swizzled(TensorSwizzle swizzle, uint32_t address) {
  switch (swizzle) {
  case TensorSwizzle::none:
    break;
  case TensorSwizzle::bytes32:
    return address ^ (address >> 7 & 1) << 4;
  case TensorSwizzle::bytes64:
    return address ^ (address >> 7 & 3) << 4;
  case TensorSwizzle::bytes128:
    return address ^ (address >> 7 & 7) << 4;
  case TensorSwizzle::bytes128Atom32:
    return address ^ (address >> 7 & 3) << 5;
  }
  return address;
}

inline uint32_t swizzleSpan(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::none      ? unitBytes
         : swizzle == TensorSwizzle::bytes32 ? 32
         : swizzle == TensorSwizzle::bytes64 ? 64
                                             : 128;
}

/// Calls visit(i, j, address) for each unit. K-major: row i, unit j of its k.
/// MN-major: unit i of the rows, k = j.
template <class Visit>
void visitUnits(const TensorDescriptor &descriptor, Major major, unsigned lines, unsigned depth,
                Visit visit) {
  const uint32_t span = swizzleSpan(descriptor.swizzle), spanUnits = span / unitBytes;
  const bool plain = descriptor.swizzle == TensorSwizzle::none;
  // Rows of k after which the pattern of a transposed operand goes on at the next stride.
  const unsigned group = descriptor.swizzle == TensorSwizzle::bytes128Atom32 ? 4 : 8;
  for (unsigned i = 0; i < lines; ++i)
    for (unsigned j = 0; j < depth; ++j) {
      uint32_t offset;
      if (major == Major::k)
        offset = i % 8 * span + i / 8 * descriptor.stride + j * (plain ? descriptor.leading : unitBytes);
      else if (plain)
        offset = i * descriptor.stride + j % 8 * unitBytes + j / 8 * descriptor.leading;
      else
        offset = i % spanUnits * unitBytes + i / spanUnits * descriptor.leading + j % group * span +
                 j / group * descriptor.stride;
      visit(i, j, swizzled(descriptor.swizzle, (descriptor.start + offset) & (descriptorBytes - 1)));
    }
}

/// The units of an operand in one block.
template <class Visit>
void visitOperand(const TensorMma &mma, WgmmaOperand operand, const TensorDescriptor &descriptor,
                  Visit visit) {
  const bool isA = operand == WgmmaOperand::a;
  const Major major = isA ? mma.majorA : mma.majorB;
  const unsigned rows = isA ? mma.rowsA() : mma.rowsB(), perUnit = mma.elementsOfUnit(operand);
  if (major == Major::k)
    visitUnits(descriptor, major, rows, mma.depth() / perUnit, visit);
  else
    visitUnits(descriptor, major, rows / perUnit, mma.depth(), visit);
}

/// Units that arrive in any order, one bit each.
class UnitSet {
public:
  void add(uint32_t address) { touched[address / unitBytes / 64] |= uint64_t(1) << address / unitBytes % 64; }
  void appendTo(std::vector<ByteRange> &ranges) const {
    for (unsigned word = 0; word < touched.size(); ++word)
      for (uint64_t bits = touched[word]; bits; bits &= bits - 1)
        appendRange(ranges, (word * 64 + unsigned(std::countr_zero(bits))) * unitBytes, unitBytes);
  }

private:
  std::array<uint64_t, descriptorBytes / unitBytes / 64> touched = {};
};

} // namespace tlc::emulator
