// SPDX-License-Identifier: Apache-2.0
/// \file
/// Box copies: one walk over the box's rows serves load, store, reduce and the
/// range lists. A row is the innermost dimension of the box; in shared memory
/// rows follow each other, padded to the swizzle's span where there is one.
#include "runtime/emulator/math/Mma.h"
#include "runtime/emulator/math/TensorMap.h"
#include "runtime/emulator/math/TensorPlaces.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <fmt/format.h>

namespace tlc::emulator {
namespace {

constexpr size_t unitBytes = 16, maxRowBytes = 256 * 8;

uint32_t rowBytes(const EmulatedTensorMap &map) { return map.box[0] * sizeInBytes(map.element); }

uint32_t rowPitch(const EmulatedTensorMap &map) {
  return std::max<uint32_t>(rowBytes(map), swizzleSpanBytes(map.swizzle));
}

/// Elements along a dimension of the box in shared memory. The innermost
/// dimension is never strided.
uint32_t extent(const EmulatedTensorMap &map, unsigned dimension) {
  if (dimension == 0)
    return map.box[0];
  return (map.box[dimension] + map.elementStrides[dimension] - 1) / map.elementStrides[dimension];
}

uint32_t rowCount(const EmulatedTensorMap &map) {
  if (map.im2col)
    return map.im2col->pixels;
  uint32_t rows = 1;
  for (unsigned i = 1; i < map.rank; ++i)
    rows *= extent(map, i);
  return rows;
}

/// The part of a row inside the tensor: elements [first, end) of the row, of
/// which the first lies at `global`. Empty when first == end.
struct RowPart {
  uint64_t global = 0;
  uint32_t first = 0, end = 0;
};

/// The first tap of one pixel after the other, from that of the coordinates on: through the rows of the
/// bounding box, and through images.
class FirstTaps {
public:
  FirstTaps(const EmulatedTensorMap &map, BoxCoordinates coordinates) : map(map) {
    std::copy_n(coordinates.begin(), map.rank, at.begin());
  }

  int64_t operator[](unsigned dimension) const { return at[dimension]; }

  void advance() {
    const Im2colBox &box = *map.im2col;
    unsigned i = 1;
    for (; i + 1 < map.rank; ++i) {
      at[i] += map.elementStrides[i];
      if (at[i] < int64_t(map.dims[i]) + box.upper[i - 1])
        return;
      at[i] = box.lower[i - 1];
    }
    ++at[i];
  }

private:
  const EmulatedTensorMap &map;
  std::array<int64_t, EmulatedTensorMap::maxRank> at = {};
};

/// Calls visit(row, part) for every row of the box, in shared-memory order.
template <class Visit>
void visitRows(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use, Visit visit) {
  assert(coordinates.size() >= map.rank);
  const unsigned size = sizeInBytes(map.element);
  const int64_t inner = coordinates[0], innerEnd = int64_t(map.dims[0]);
  const int64_t first = std::clamp<int64_t>(-inner, 0, map.box[0]);
  int64_t end = std::clamp<int64_t>(innerEnd - inner, first, map.box[0]);
  if (const int64_t unit = unitBytes / size; use == BoxUse::store && first < end)
    end = alignTo(end, unit); // a row of the box is whole units

  const auto partAt = [&](const auto &coordinate) {
    bool inside = !map.isEmpty && first < end;
    uint64_t global = map.globalAddress + uint64_t(inner + first) * size;
    for (unsigned i = 1; i < map.rank; ++i) {
      const int64_t at = coordinate(i);
      inside = inside && at >= 0 && uint64_t(at) < map.dims[i];
      global += uint64_t(at) * map.strides[i - 1];
    }
    return inside ? RowPart{global, uint32_t(first), uint32_t(end)} : RowPart{};
  };
  if (map.im2col) {
    FirstTaps taps(map, coordinates);
    for (uint32_t row = 0; row < map.im2col->pixels; ++row, taps.advance())
      visit(row, partAt([&](unsigned i) {
              return taps[i] + (i + 1 < map.rank ? coordinates[map.rank + i - 1] : 0);
            }));
    return;
  }
  std::array<uint32_t, EmulatedTensorMap::maxRank> index = {}, extents = {};
  for (unsigned i = 1; i < map.rank; ++i)
    extents[i] = extent(map, i);
  for (uint32_t row = 0, rows = rowCount(map); row < rows; ++row) {
    visit(row,
          partAt([&](unsigned i) { return coordinates[i] + int64_t(index[i]) * map.elementStrides[i]; }));
    for (unsigned i = 1; i < map.rank && ++index[i] == extents[i]; ++i)
      index[i] = 0;
  }
}

Result<void> checkShared(const EmulatedTensorMap &map, uint32_t address, size_t sharedBytes) {
  if (address % 128 != 0)
    return Error{
        ErrorKind::execution,
        fmt::format("tensor copy: the shared address must be a multiple of 128, but is {:#x}", address)};
  const uint64_t bytes = uint64_t(rowPitch(map)) * rowCount(map);
  if (address + bytes > sharedBytes)
    return Error{
        ErrorKind::execution,
        fmt::format("tensor copy: the box of {} bytes at shared address {:#x} ends beyond the block's {} "
                    "bytes of shared memory",
                    bytes, address, sharedBytes)};
  return {};
}

/// Rows between shared memory and plain bytes, in 16-byte units each at its swizzled place.
class SwizzledRows {
public:
  SwizzledRows(const EmulatedTensorMap &map, uint32_t address)
      : swizzle(map.swizzle), address(address), bytes(rowBytes(map)), pitch(rowPitch(map)) {}

  void write(std::span<std::byte> shared, uint32_t row, const std::byte *from) const {
    visit(row, [&](uint32_t at, uint32_t i) { std::memcpy(&shared[at], from + i, unitBytes); });
  }
  void read(std::span<const std::byte> shared, uint32_t row, std::byte *to) const {
    visit(row, [&](uint32_t at, uint32_t i) { std::memcpy(to + i, &shared[at], unitBytes); });
  }

private:
  template <class Visit> void visit(uint32_t row, Visit visit) const {
    const uint32_t start = address + row * pitch;
    for (uint32_t i = 0; i < bytes; i += unitBytes)
      visit(swizzleAddress(swizzle, start + i), i);
  }

  Swizzle swizzle;
  uint32_t address, bytes, pitch;
};

std::byte *hostPointer(uint64_t address) { return reinterpret_cast<std::byte *>(uintptr_t(address)); }

/// The hardware's NaN is made of this in every type.
uint64_t fillBits(const EmulatedTensorMap &map) {
  return map.fill == OutOfBoundsFill::zero ? 0 : 0x7FF77FF77FF77FF7;
}

void fillElements(std::byte *bytes, size_t count, uint64_t bits, unsigned size) {
  for (size_t i = 0; i < count; ++i)
    std::memcpy(bytes + i * size, &bits, size); // little-endian hosts: the low bytes
}

template <class Word>
void reduceRow(Reduction reduction, TensorElement element, std::byte *global, const std::byte *operands,
               uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    Word operand;
    std::memcpy(&operand, operands + i * sizeof(Word), sizeof(Word));
    std::atomic_ref<Word> target(reinterpret_cast<Word *>(global)[i]);
    Word old = target.load(std::memory_order_relaxed);
    while (!target.compare_exchange_weak(old, Word(reduceElement(reduction, element, old, operand)),
                                         std::memory_order_relaxed))
      ;
  }
}

/// What PTX wants of the first tap and the offsets of a copy in im2col mode.
Result<void> checkFirstTap(const EmulatedTensorMap &map, BoxCoordinates coordinates) {
  const int64_t offsets = 2 * TmaFacts::im2colReach(map.rank);
  for (unsigned i = 1; i + 1 < map.rank; ++i) {
    const int64_t lower = map.im2col->lower[i - 1],
                  last = int64_t(map.dims[i]) + map.im2col->upper[i - 1] - 1;
    if (coordinates[i] < lower || coordinates[i] > last)
      return Error{
          ErrorKind::execution,
          fmt::format("tensor copy: the first tap must be in the bounding box, which is from {} to {} "
                      "along dimension {} (innermost is 0), but is at {}",
                      lower, last, i, coordinates[i])};
    if (const int64_t offset = coordinates[map.rank + i - 1]; offset < 0 || offset >= offsets)
      return Error{
          ErrorKind::execution,
          fmt::format("tensor copy: the offset of dimension {} (innermost is 0) must be 0 to {} of a "
                      "tensor of rank {}, but is {}",
                      i, offsets - 1, map.rank, offset)};
  }
  return {};
}

} // namespace

uint64_t boxBytes(const EmulatedTensorMap &map) { return uint64_t(rowBytes(map)) * rowCount(map); }

Result<void> checkCoordinates(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use) {
  const int64_t bytes = int64_t(coordinates[0]) * sizeInBytes(map.element);
  if (bytes % int64_t(unitBytes) != 0)
    return Error{
        ErrorKind::execution,
        fmt::format("tensor copy: the innermost coordinate must stand for a multiple of {} bytes, but {} "
                    "elements of {} are {}",
                    unitBytes, coordinates[0], toString(map.element), bytes)};
  for (unsigned i = 0; use == BoxUse::store && i < map.rank; ++i)
    if (coordinates[i] < 0)
      return Error{
          ErrorKind::execution,
          fmt::format("tensor copy: the coordinates of a store must not be negative, but that of dimension "
                      "{} (innermost is 0) is {}",
                      i, coordinates[i])};
  return map.im2col ? checkFirstTap(map, coordinates) : Result<void>();
}

void boxGlobalRanges(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use,
                     std::vector<ByteRange> &ranges) {
  const unsigned size = sizeInBytes(map.element);
  visitRows(map, coordinates, use, [&](uint32_t, const RowPart &part) {
    if (part.first < part.end)
      appendRange(ranges, part.global, uint64_t(part.end - part.first) * size);
  });
}

void boxSharedRanges(const EmulatedTensorMap &map, uint32_t address, std::vector<ByteRange> &ranges) {
  if (rowBytes(map) == rowPitch(map)) { // a swizzle moves units within the box
    appendRange(ranges, address, boxBytes(map));
    return;
  }
  for (uint32_t row = 0; row < rowCount(map); ++row)
    for (uint32_t i = 0; i < rowBytes(map); i += unitBytes)
      appendRange(ranges, swizzleAddress(map.swizzle, address + row * rowPitch(map) + i), unitBytes);
}

/// Calls visit(shared, global, bytes) for each unit of the box inside the tensor, or its part there.
template <class Visit>
static void visitUnitsOfBox(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use,
                            uint32_t address, Visit visit) {
  const unsigned size = sizeInBytes(map.element);
  visitRows(map, coordinates, use, [&](uint32_t row, const RowPart &part) {
    const uint32_t start = address + row * rowPitch(map);
    for (uint32_t at = part.first * size, end = part.end * size; at < end;) {
      const uint32_t next = std::min(end, at - at % uint32_t(unitBytes) + uint32_t(unitBytes));
      const uint32_t unit = at - at % uint32_t(unitBytes);
      visit(swizzleAddress(map.swizzle, start + unit) + (at - unit), part.global + at - part.first * size,
            next - at);
      at = next;
    }
  });
}

std::optional<uint32_t> sharedPlaceOf(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use,
                                      uint32_t address, uint64_t global) {
  std::optional<uint32_t> found;
  visitUnitsOfBox(map, coordinates, use, address, [&](uint32_t shared, uint64_t first, uint32_t bytes) {
    if (global - first < bytes)
      found = shared + uint32_t(global - first);
  });
  return found;
}

std::optional<uint64_t> globalPlaceOf(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use,
                                      uint32_t address, uint32_t shared) {
  std::optional<uint64_t> found;
  visitUnitsOfBox(map, coordinates, use, address, [&](uint32_t first, uint64_t global, uint32_t bytes) {
    if (shared - first < bytes)
      found = global + (shared - first);
  });
  return found;
}

Result<void> loadBox(const EmulatedTensorMap &map, BoxCoordinates coordinates, std::span<std::byte> shared,
                     uint32_t address) {
  if (Result<void> ok = checkShared(map, address, shared.size()); !ok)
    return ok;
  const unsigned size = sizeInBytes(map.element);
  const uint64_t fill = fillBits(map);
  const SwizzledRows rows(map, address);
  constexpr unsigned ahead = 8, hostLine = 64;
  const uint64_t next = map.rank > 1 ? ahead * map.strides[0] : 0;
  visitRows(map, coordinates, BoxUse::load, [&](uint32_t row, const RowPart &part) {
    // Rows lie apart, where the host does not foresee them.
    for (uint32_t at = 0; at < rowBytes(map); at += hostLine)
      __builtin_prefetch(hostPointer(part.global + next + at));
    if (part.first == 0 && part.end == map.box[0])
      return rows.write(shared, row, hostPointer(part.global));
    std::byte bytes[maxRowBytes];
    fillElements(bytes, part.first, fill, size);
    if (part.first < part.end)
      std::memcpy(bytes + part.first * size, hostPointer(part.global), (part.end - part.first) * size);
    fillElements(bytes + part.end * size, map.box[0] - part.end, fill, size);
    rows.write(shared, row, bytes);
  });
  return {};
}

namespace {

/// Calls `write` for each row of a box in shared memory that has elements in the tensor: with where these lie
/// in global memory, their bytes, and their number.
template <class Write>
Result<void> forEachStoredRow(const EmulatedTensorMap &map, BoxCoordinates coordinates,
                              std::span<const std::byte> shared, uint32_t address, const Write &write) {
  if (Result<void> ok = checkShared(map, address, shared.size()); !ok)
    return ok;
  const SwizzledRows rows(map, address);
  visitRows(map, coordinates, BoxUse::store, [&](uint32_t row, const RowPart &part) {
    if (part.first == part.end)
      return;
    std::byte bytes[maxRowBytes];
    rows.read(shared, row, bytes);
    write(hostPointer(part.global), bytes + part.first * sizeInBytes(map.element), part.end - part.first);
  });
  return {};
}

} // namespace

Result<void> storeBox(const EmulatedTensorMap &map, BoxCoordinates coordinates,
                      std::span<const std::byte> shared, uint32_t address) {
  return forEachStoredRow(map, coordinates, shared, address,
                          [&](std::byte *global, const std::byte *elements, uint32_t count) {
                            std::memcpy(global, elements, count * sizeInBytes(map.element));
                          });
}

Result<void> reduceBox(const EmulatedTensorMap &map, Reduction reduction, BoxCoordinates coordinates,
                       std::span<const std::byte> shared, uint32_t address) {
  if (Result<void> ok = checkReduction(reduction, map.element); !ok)
    return ok;
  return forEachStoredRow(map, coordinates, shared, address,
                          [&](std::byte *global, const std::byte *operands, uint32_t count) {
                            const unsigned size = sizeInBytes(map.element);
                            if (size == 2)
                              reduceRow<uint16_t>(reduction, map.element, global, operands, count);
                            else if (size == 4)
                              reduceRow<uint32_t>(reduction, map.element, global, operands, count);
                            else
                              reduceRow<uint64_t>(reduction, map.element, global, operands, count);
                          });
}

} // namespace tlc::emulator
