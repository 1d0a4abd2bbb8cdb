// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor memory: 128 lanes of 512 columns of 32 bits, allocated in columns.
/// Every block has a multiprocessor's to itself. Here are its cells, who holds
/// which columns, and the maps between its cells and a warp's registers.
#pragma once

#include "runtime/target/Target.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tlc::emulator {

inline constexpr unsigned tensorLanes = TensorMemoryFacts().lanes;
inline constexpr unsigned tensorColumns = TensorMemoryFacts().columns;
/// Lanes that one warp of a warpgroup reaches.
inline constexpr unsigned quarterLanes = tensorLanes / 4;

/// An address of tensor memory: the lane in the upper half, the column below.
struct TensorAddress {
  uint32_t lane = 0, column = 0;
  static TensorAddress decode(uint32_t bits) { return {bits >> 16, bits & 0xFFFF}; }
  uint32_t encode() const { return lane << 16 | column; }
};

/// All cells of a block, lane after lane; empty before the first allocation.
using TensorCells = std::span<uint32_t>;
inline uint32_t &tensorCell(TensorCells cells, unsigned lane, unsigned column) {
  return cells[lane * tensorColumns + column];
}

struct TensorAllocation {
  uint32_t column = 0, columns = 0;
  uint32_t pc = 0; ///< of the alloc
};

/// A warp that is at a tcgen05.alloc.
struct TensorRequest {
  uint32_t columns = 0;
  uint32_t pc = 0;
  std::optional<uint32_t> granted; ///< first column
};

class TensorMemory {
public:
  TensorCells cells() { return memory; }
  const std::vector<TensorAllocation> &allocations() const { return held; }
  /// All of [column, column + columns) is allocated.
  bool isAllocated(uint32_t column, uint32_t columns) const;
  /// [column, column + columns) is free.
  bool isFree(uint32_t column, uint32_t columns) const;
  uint32_t freeColumns() const;
  /// Cells start as NaNs of every type: reading what nobody wrote shows.
  void allocate(const TensorAllocation &allocation);
  /// False when no allocation is exactly this one.
  bool free(uint32_t column, uint32_t columns);

  std::optional<TensorRequest> request;
  std::optional<unsigned> allocator;      ///< the warp that makes the block's allocations
  std::optional<uint32_t> relinquishedAt; ///< pc of relinquish_alloc_permit

private:
  std::vector<uint32_t> memory;
  std::vector<TensorAllocation> held; ///< sorted
};

// --- tcgen05.ld, tcgen05.st -------------------------------------------------------

enum class TensorShape : uint8_t { lanes32x32b, lanes16x64b, lanes16x128b, lanes16x256b, lanes16x32bx2 };

/// tcgen05.ld.<shape>.x<repeat>{.pack::16b} and its counterpart st.
struct TensorMove {
  TensorShape shape = TensorShape::lanes32x32b;
  unsigned repeat = 1;
  bool packed = false;      ///< a register holds the low halves of two columns
  uint32_t splitOffset = 0; ///< columns from the first to the second half of 16x32bx2
};

/// Registers of a thread; 0 when there is no such form.
unsigned registersOf(const TensorMove &move);
/// Lanes that a form covers: 32, or 16.
unsigned coveredLanes(const TensorMove &move);

/// Runs of columns that a form covers, from the address's.
struct TensorColumns {
  uint32_t first = 0, count = 0;
};
/// One run, or two for 16x32bx2.
std::vector<TensorColumns> columnsOf(const TensorMove &move);

/// Registers of a warp, each of 32 threads: `registers[r * 32 + thread]`.
void loadTensor(const TensorMove &move, TensorCells cells, TensorAddress address,
                std::span<uint32_t> registers);
/// What .unpack::16b leaves in the upper halves is not documented; here it is 0.
void storeTensor(const TensorMove &move, TensorCells cells, TensorAddress address,
                 std::span<const uint32_t> registers);

} // namespace tlc::emulator
