// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many blocks of a kernel share a multiprocessor, and what limits them (CUDA C++ Programming Guide,
/// "Multiprocessor Level").
#pragma once

#include "runtime/support/Enum.h"
#include "runtime/target/Target.h"

#include <array>

namespace tlc {

/// What a block of a kernel takes.
struct BlockNeeds {
  unsigned threads = 0;
  unsigned registers = 0; ///< per thread, at launch
  unsigned sharedBytes = 0;
};

#define TLC_OCCUPANCY_LIMITS(X) X(blocks) X(threads) X(registers) X(sharedMemory)
TLC_ENUM(OccupancyLimit, TLC_OCCUPANCY_LIMITS)
inline constexpr size_t occupancyLimits = 4;

struct Occupancy {
  /// How many blocks each resource is enough for; 0 where a block alone takes too much.
  std::array<unsigned, occupancyLimits> most{};

  unsigned blocks() const;
  /// The first resource that allows no more.
  OccupancyLimit limit() const;
};

Occupancy occupancyOf(const BlockNeeds &block, const Target &target);

} // namespace tlc
