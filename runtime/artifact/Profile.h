// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a profiled kernel writes. Its module has a variable in global memory: a `ProfileWarp` of each warp of
/// the profiled cluster, block by block, then the records of the first warp, of the second one, and so on.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tlc {

/// The variable in PTX. No kernel can have that name.
inline constexpr std::string_view profileBufferName = "profile$";

/// Records of a warp, at most: 32 MiB for a block of 1024 threads.
inline constexpr unsigned maxProfileRecords = 1u << 16;

/// Of a warp.
struct ProfileWarp {
  uint64_t beginTime = 0, endTime = 0;   ///< nanoseconds of %globaltimer, which all multiprocessors share
  uint32_t beginClock = 0, endClock = 0; ///< cycles of %clock, which the warps of a multiprocessor share
  uint32_t position = 0;                 ///< of the next record; `profileStopped` is set if it did not fit
  uint32_t multiprocessor = 0;           ///< %smid
};
static_assert(sizeof(ProfileWarp) == 32);

/// One wait, or the beginning of an iteration.
struct ProfileRecord {
  uint32_t begin = 0, end = 0; ///< cycles; equal for an iteration
  uint32_t mark = 0;           ///< index into `LaunchNames::marks`
  uint32_t object = 0;         ///< as the mark's kind says
};
static_assert(sizeof(ProfileRecord) == 16);

/// A bit of positions: nothing is recorded.
inline constexpr uint32_t profileStopped = 0x80000000;

/// Bytes of the variable, for the warps of a cluster.
constexpr uint64_t profileBufferBytes(uint64_t warps, uint64_t records) {
  return warps * (sizeof(ProfileWarp) + records * sizeof(ProfileRecord));
}

/// What a warp has recorded, with cycles since the first warp of its block began.
struct WarpProfile {
  struct Record {
    uint64_t begin = 0, end = 0;
    uint32_t mark = 0, object = 0;
  };
  uint64_t begin = 0, end = 0;
  std::vector<Record> records = {};
  uint64_t lost = 0; ///< for which there was no room
};

/// A block's, by warp.
struct BlockProfile {
  uint32_t multiprocessor = 0;
  uint64_t beginTime = 0, endTime = 0; ///< nanoseconds
  std::vector<WarpProfile> warps = {};

  uint64_t cycles() const;
};

/// The contents of the variable after a launch, by block of the cluster; an error if they are not those of a
/// launch that has ended.
Result<std::vector<BlockProfile>> readProfile(const Launch &launch, std::span<const std::byte> buffer);

} // namespace tlc
