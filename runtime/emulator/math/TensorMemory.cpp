// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/math/TensorMemory.h"

#include "runtime/target/Hardware.h"

#include <algorithm>
#include <bit>

namespace tlc::emulator {

namespace {

constexpr unsigned threads = lanesPerWarp;
constexpr uint32_t poison = ~0u;

/// The cell of register r of thread t from the address's; columns count packed pairs as one.
struct Place {
  unsigned lane, column;
};
Place placeOf(TensorShape shape, unsigned r, unsigned t) {
  switch (shape) {
  case TensorShape::lanes32x32b:
    return {t, r};
  case TensorShape::lanes16x64b:
    return {t % 2 * 8 + t / 4, 2 * r + t / 2 % 2};
  case TensorShape::lanes16x128b:
    return {r % 2 * 8 + t / 4, r / 2 * 4 + t % 4};
  case TensorShape::lanes16x256b:
    return {r / 2 % 2 * 8 + t / 4, r / 4 * 8 + t % 4 * 2 + r % 2};
  case TensorShape::lanes16x32bx2:
    return {t % 16, r};
  }
  return {0, 0};
}

/// Calls visit(index of the register's thread, first of the cells), cell after cell.
template <class Visit> void visitCells(const TensorMove &move, TensorAddress address, Visit visit) {
  const unsigned registers = registersOf(move), width = move.packed ? 2 : 1;
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned t = 0; t < threads; ++t) {
      const Place place = placeOf(move.shape, r, t);
      const bool second = move.shape == TensorShape::lanes16x32bx2 && t >= 16;
      visit(r * threads + t, (address.lane + place.lane) * tensorColumns + address.column +
                                 place.column * width + (second ? move.splitOffset : 0));
    }
}

} // namespace

bool TensorMemory::isAllocated(uint32_t column, uint32_t columns) const {
  // Sorted, so neighbours follow each other.
  uint32_t at = column;
  for (const TensorAllocation &allocation : held)
    if (allocation.column <= at && at < allocation.column + allocation.columns)
      at = allocation.column + allocation.columns;
  return at >= column + columns;
}

bool TensorMemory::isFree(uint32_t column, uint32_t columns) const {
  return column + columns <= tensorColumns &&
         std::none_of(held.begin(), held.end(), [&](const TensorAllocation &allocation) {
           return allocation.column < column + columns && column < allocation.column + allocation.columns;
         });
}

uint32_t TensorMemory::freeColumns() const {
  uint32_t left = tensorColumns;
  for (const TensorAllocation &allocation : held)
    left -= allocation.columns;
  return left;
}

void TensorMemory::allocate(const TensorAllocation &allocation) {
  if (memory.empty())
    memory.resize(tensorLanes * tensorColumns);
  for (unsigned lane = 0; lane < tensorLanes; ++lane)
    std::fill_n(&tensorCell(memory, lane, allocation.column), allocation.columns, poison);
  held.insert(std::upper_bound(
                  held.begin(), held.end(), allocation,
                  [](const TensorAllocation &a, const TensorAllocation &b) { return a.column < b.column; }),
              allocation);
}

bool TensorMemory::free(uint32_t column, uint32_t columns) {
  return std::erase_if(held, [&](const TensorAllocation &allocation) {
           return allocation.column == column && allocation.columns == columns;
         }) != 0;
}

unsigned registersOf(const TensorMove &move) {
  constexpr unsigned maximum = 128;
  if (!std::has_single_bit(move.repeat) || move.repeat > maximum)
    return 0;
  const unsigned each = move.shape == TensorShape::lanes16x128b   ? 2
                        : move.shape == TensorShape::lanes16x256b ? 4
                                                                  : 1;
  const unsigned registers = each * move.repeat;
  return registers <= maximum ? registers : 0;
}

unsigned coveredLanes(const TensorMove &move) { return move.shape == TensorShape::lanes32x32b ? 32 : 16; }

std::vector<TensorColumns> columnsOf(const TensorMove &move) {
  const unsigned registers = registersOf(move), width = move.packed ? 2 : 1;
  if (move.shape == TensorShape::lanes16x32bx2)
    return {{0, registers * width}, {move.splitOffset, registers * width}};
  return {{0, registers * threads / coveredLanes(move) * width}};
}

void loadTensor(const TensorMove &move, TensorCells cells, TensorAddress address,
                std::span<uint32_t> registers) {
  visitCells(move, address, [&](unsigned at, unsigned cell) {
    registers[at] = move.packed ? cells[cell + 1] << 16 | (cells[cell] & 0xFFFF) : cells[cell];
  });
}

void storeTensor(const TensorMove &move, TensorCells cells, TensorAddress address,
                 std::span<const uint32_t> registers) {
  visitCells(move, address, [&](unsigned at, unsigned cell) {
    if (move.packed) {
      cells[cell] = registers[at] & 0xFFFF;
      cells[cell + 1] = registers[at] >> 16;
    } else {
      cells[cell] = registers[at];
    }
  });
}

} // namespace tlc::emulator
