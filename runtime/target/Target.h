// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of hardware facts: one row per target that code is generated for.
/// Whoever needs a limit, a granularity or the presence of a unit asks here, or
/// Hardware.h for what all targets share; no other file holds such a number. What varies between products of
/// one target (multiprocessors, L2) is the value of the row's reference device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tlc {

/// The tensor memory accelerator: bulk tensor copies between global and shared memory.
struct TmaFacts {
  bool available = false;
  unsigned maxRank = 5;                 ///< axes of a tensor map
  unsigned globalAlignment = 16;        ///< bytes: base address and all outer strides
  unsigned sharedAlignment = 128;       ///< bytes: a box in shared memory; more with a swizzle
  unsigned maxBoxExtent = 256;          ///< elements per axis of a box
  unsigned innerBoxGranularity = 16;    ///< bytes: the innermost box axis is a multiple of this
  int64_t maxStride = int64_t(1) << 40; ///< bytes, exclusive
  int64_t maxExtent = int64_t(1) << 32; ///< elements per axis of the tensor, inclusive
  unsigned maxElementStride = 8;        ///< elements from one that a box has to the next along an axis
  // Of maps in im2col mode (PTX ISA, "im2col mode").
  unsigned minIm2colRank = 3;
  unsigned maxPixels = 1024; ///< of a box

  /// A corner of the bounding box is from minus this to this less one, an offset from 0 to twice this less
  /// one.
  static int64_t im2colReach(size_t rank) { return rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4; }
};

/// `setmaxnreg`: registers move between the warpgroups of a block.
struct RegisterReallocationFacts {
  bool available = false;
  unsigned min = 24;
  unsigned max = 256;
  unsigned step = 8;
};

/// Tensor memory, where tcgen05 keeps accumulators.
struct TensorMemoryFacts {
  bool available = false;
  unsigned lanes = 128;
  unsigned columns = 512;      ///< of 32 bits
  unsigned minAllocation = 32; ///< columns; allocations are powers of two
};

struct Target {
  std::string_view name;    ///< "sm_90a": PTX's .target and LLVM's cpu
  std::string_view llvmCpu; ///< what the NVPTX backend calls it
  int computeMajor = 0;
  int computeMinor = 0;
  unsigned ptxVersion = 0;    ///< that we emit: 87 is .version 8.7
  unsigned minPtxVersion = 0; ///< the first that knows the target
  int driverVersion =
      0; ///< the first driver that reads `ptxVersion`, as cuDriverGetVersion counts: 12080 is 12.8

  // Memory.
  unsigned sharedBytesPerBlock = 0; ///< most dynamic shared memory of a block (opt-in)
  unsigned sharedBytesPerMultiprocessor = 0;
  unsigned sharedReservedPerBlock = 0; ///< taken by the system from the multiprocessor's pool
  unsigned sharedBytesWithoutOptIn = 48 * 1024;
  int64_t l2Bytes = 0;
  unsigned maxVectorBytes = 16; ///< widest load or store of one thread
  unsigned maxAddedFloats = 1;  ///< adjacent f32 that one `red` adds to global memory

  // Registers.
  unsigned registersPerMultiprocessor = 65536;
  unsigned registersPerBlock = 65536;
  unsigned maxRegistersPerThread = 255;
  unsigned registerGranularity = 8; ///< per thread: allocations are rounded up to this

  // Execution.
  int multiprocessors = 0;
  unsigned partitions = 4; ///< of a multiprocessor: each has a scheduler and its share of the registers
  unsigned maxThreadsPerBlock = 1024;
  unsigned maxBlockZ = 64; ///< threads of a block along z
  unsigned maxThreadsPerMultiprocessor = 2048;
  unsigned maxBlocksPerMultiprocessor = 32;
  unsigned maxClusterSize = 1;        ///< blocks, portable; 1 where there are no clusters
  unsigned namedBarriers = 16;        ///< per block; barrier 0 is the block's own
  unsigned maxParameterBytes = 32764; ///< of an entry, with PTX 8.1 and later
  uint32_t maxGridX = 0x7fffffff;
  uint32_t maxGridYZ = 65535;

  // Units.
  bool mmaSync = false; ///< warp-wide matrix instructions on registers
  bool wgmma = false;   ///< warpgroup-wide, operands in shared memory
  bool tcgen05 = false; ///< issued by one thread, accumulators in tensor memory
  bool cpAsync = false;
  bool mbarrier = false; ///< with transaction counts
  bool stmatrix = false;
  bool multimem = false;      ///< memory of several devices by one address
  bool float8 = false;        ///< converts floats of 8 bits
  bool float4 = false;        ///< converts floats of 4 bits
  bool launchOrder = false;   ///< griddepcontrol: a launch may begin while the one before it drains
  bool launchControl = false; ///< clusterlaunchcontrol: a block takes the place of one that has not started
  TmaFacts tma = {};
  RegisterReallocationFacts setmaxnreg = {};
  TensorMemoryFacts tensorMemory = {};

  /// 90 for sm_90 and sm_90a.
  int sm() const { return computeMajor * 10 + computeMinor; }
  /// Code for this target runs on a device of that compute capability.
  bool runsOn(int major, int minor) const;
  /// Registers per thread that a block of `threads` may take, if `residents` such blocks share a
  /// multiprocessor; a multiple of `registerGranularity`.
  unsigned maxRegistersForBlock(unsigned threads, unsigned residents = 1) const;
  /// Dynamic shared memory that a block may take if `residents` blocks share a multiprocessor.
  unsigned sharedBytesOfBlock(unsigned residents) const;
};

/// All rows, oldest first.
std::span<const Target> allTargets();
/// The names of all rows, for messages: "sm_80, sm_90a, ...".
std::string targetNames();
/// The row of that name, or null.
const Target *findTarget(std::string_view name);
/// The best row whose code runs on a device of that compute capability, or null.
const Target *findTargetForDevice(int major, int minor);

} // namespace tlc
