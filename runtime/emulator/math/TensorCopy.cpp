// SPDX-License-Identifier: Apache-2.0
/// \file
/// tcgen05.cp and tcgen05.shift.
#include "runtime/emulator/math/TensorUnits.h"

#include <cstring>

namespace tlc::emulator {

namespace {

/// Lanes that a row goes to, from the address's.
std::vector<unsigned> lanesOfRow(TensorCopyShape shape, unsigned row) {
  const unsigned within = row % quarterLanes, half = row / quarterLanes;
  switch (shape) {
  case TensorCopyShape::rows128x256b:
  case TensorCopyShape::rows128x128b:
    return {row};
  case TensorCopyShape::rows4x256b:
    return {row * quarterLanes};
  case TensorCopyShape::rows64x128bTo02And13:
    return {half * quarterLanes + within, (half + 2) * quarterLanes + within};
  case TensorCopyShape::rows64x128bTo01And23:
    return {2 * half * quarterLanes + within, (2 * half + 1) * quarterLanes + within};
  case TensorCopyShape::rows32x128b:
    break;
  }
  return {within, quarterLanes + within, 2 * quarterLanes + within, 3 * quarterLanes + within};
}

/// 16 elements of `bits` bits, one to a byte, `shift` bits from its end.
void spread(const std::byte *from, unsigned bits, unsigned shift, std::byte *to) {
  for (unsigned i = 0; i < unitBytes; ++i) {
    uint16_t word;
    std::memcpy(&word, from + i * bits / 8, sizeof(word));
    to[i] = std::byte((word >> i * bits % 8 & ((1u << bits) - 1)) << shift);
  }
}

} // namespace

unsigned TensorCopy::rows() const {
  switch (shape) {
  case TensorCopyShape::rows128x256b:
  case TensorCopyShape::rows128x128b:
    return 128;
  case TensorCopyShape::rows4x256b:
    return 4;
  case TensorCopyShape::rows64x128bTo02And13:
  case TensorCopyShape::rows64x128bTo01And23:
    return 64;
  case TensorCopyShape::rows32x128b:
    break;
  }
  return 32;
}

unsigned TensorCopy::columns() const {
  return shape == TensorCopyShape::rows128x256b || shape == TensorCopyShape::rows4x256b ? 8 : 4;
}

void copyRanges(const TensorCopy &copy, const TensorDescriptor &descriptor, std::vector<ByteRange> &ranges) {
  UnitSet units;
  visitUnits(descriptor, Major::k, copy.rows(), copy.columns() / 4,
             [&](unsigned, unsigned, uint32_t address) { units.add(address); });
  units.appendTo(ranges);
}

void copyToTensor(const TensorCopy &copy, const TensorDescriptor &descriptor, const TensorBlock &block,
                  TensorAddress to) {
  visitUnits(descriptor, Major::k, copy.rows(), copy.columns() / 4,
             [&](unsigned row, unsigned unit, uint32_t address) {
               const std::byte *from = block.shared.data() + address;
               std::byte values[unitBytes];
               switch (copy.format) {
               case TensorCopyFormat::bytes:
                 std::memcpy(values, from, unitBytes);
                 break;
               case TensorCopyFormat::bits6:
                 spread(from, 6, 1, values);
                 break;
               case TensorCopyFormat::bits4:
                 spread(from, 4, 2, values);
                 break;
               }
               for (unsigned lane : lanesOfRow(copy.shape, row))
                 std::memcpy(&tensorCell(block.cells, to.lane + lane, to.column + unit * 4), values,
                             unitBytes);
             });
}

void shiftDown(TensorCells cells, TensorAddress address) {
  for (unsigned lane = address.lane; lane + 1 < address.lane + quarterLanes; ++lane)
    std::memcpy(&tensorCell(cells, lane, address.column), &tensorCell(cells, lane + 1, address.column),
                shiftColumns * sizeof(uint32_t));
}

} // namespace tlc::emulator
