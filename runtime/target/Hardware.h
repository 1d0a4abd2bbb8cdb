// SPDX-License-Identifier: Apache-2.0
/// \file
/// Facts of the hardware that are the same for every target. What differs between
/// targets is a field of Target; which matrix instruction has which extents is in
/// the rows of MmaAtoms.h. No other file writes one of these numbers
/// (tools/scripts/check_facts.py).
#pragma once

#include <cstdint>

namespace tlc {

//===----------------------------------------------------------------------===//
// Threads and registers
//===----------------------------------------------------------------------===//

inline constexpr int64_t lanesPerWarp = 32;
inline constexpr int64_t warpsPerWarpgroup = 4;
inline constexpr int64_t threadsPerWarpgroup = warpsPerWarpgroup * lanesPerWarp;
inline constexpr int64_t registerBytes = 4;
inline constexpr int64_t registerBits = 8 * registerBytes;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

inline constexpr int64_t sharedBanks = 32;
inline constexpr int64_t sharedBankBytes = 4;
/// What all banks deliver at once.
inline constexpr int64_t sharedWavefrontBytes = sharedBanks * sharedBankBytes;
inline constexpr int64_t maxSharedVectorBytes = 16; ///< widest access of one thread

/// A swizzle permutes chunks within a row of at most so many bytes, by the row's number; the
/// pattern repeats after so many rows.
inline constexpr int64_t swizzleChunkBytes = 16;
inline constexpr int64_t maxSwizzleBytes = 128;
inline constexpr int64_t swizzleRows = 8;
/// Tiles with the widest swizzle begin at multiples of this.
inline constexpr int64_t swizzleAlignment = swizzleRows * maxSwizzleBytes;

/// cp.async copies 4, 8 or 16 bytes, only the last not by way of L1.
inline constexpr int64_t minCpAsyncBytes = 4;
inline constexpr int64_t cpAsyncBytesPastL1 = 16;

inline constexpr int64_t mbarrierBytes = 8;
/// What a request to cancel a cluster leaves in shared memory, and its alignment.
inline constexpr int64_t cancelResponseBytes = 16;
inline constexpr int64_t maxMbarrierArrivals = (int64_t(1) << 20) - 1;
inline constexpr int64_t maxMbarrierTransactionBytes = (int64_t(1) << 20) - 1;

/// Most devices that launch one program together: those of a host that reach each other's memory by NVLink.
/// Tables of what each rank has are parameters of kernels, and have room for so many.
inline constexpr int64_t maxRanks = 8;
inline constexpr int64_t pointerBytes = 8; ///< in such a table

/// A tensor map as a kernel's parameter.
inline constexpr int64_t tensorMapBytes = 128;
inline constexpr int64_t tensorMapAlignment = 64;

//===----------------------------------------------------------------------===//
// Matrix units
//===----------------------------------------------------------------------===//

/// ldmatrix, stmatrix and core matrices: 8 rows of 16 bytes.
inline constexpr int64_t matrixRows = 8;
inline constexpr int64_t matrixRowBytes = 16;

/// mma.sync of elements of up to 16 bits: rows and columns of a warp's result.
inline constexpr int64_t mmaSyncRows = 16;
inline constexpr int64_t mmaSyncColumns = 8;

/// wgmma: rows of a warpgroup's result, of which each warp has a quarter, and its columns.
inline constexpr int64_t wgmmaRows = 64;
inline constexpr int64_t wgmmaColumnStep = 8;
inline constexpr int64_t maxWgmmaColumns = 256;

/// tcgen05.mma of one block: rows, which fill the lanes of tensor memory, and columns.
inline constexpr int64_t tcgen05Rows = 128;
inline constexpr int64_t tcgen05ColumnStep = 16;
inline constexpr int64_t maxTcgen05Columns = 256;

/// Of an address in tensor memory: the lane is above so many bits, which are the column.
inline constexpr int64_t tensorMemoryColumnBits = 16;
/// Of the lanes that a warp reaches: where the second half begins. A tile of 64 rows takes one of the halves.
inline constexpr int64_t tensorMemoryUpperLane = lanesPerWarp / 2;
/// Registers of a thread that one instruction moves to or from tensor memory at most.
inline constexpr int64_t maxTensorMemoryRegisters = 128;

/// Of a row of a factor: what one wgmma or tcgen05.mma, and the largest mma.sync, sums up.
inline constexpr int64_t matrixDepthBytes = 32;
/// Elements of a sparse left factor whose places a byte of metadata has. As many again are not stored.
constexpr int64_t storedPerMetadataByte(int64_t elementBits) { return elementBits == 32 ? 2 : 4; }

/// A panel: what a warpgroup stores by one TMA copy, its rows of one swizzle span.
inline constexpr int64_t panelRows = wgmmaRows;
constexpr int64_t panelColumns(int64_t elementBits) { return maxSwizzleBytes * 8 / elementBits; }

} // namespace tlc
