// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run of bytes that an instruction touches, for bounds checks and for the
/// race checker. Shared ranges are offsets into the block's shared window,
/// global ranges are addresses.
#pragma once

#include <cstdint>
#include <vector>

namespace tlc::emulator {

struct ByteRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool operator==(const ByteRange &) const = default;
};

/// Appends a range; one that continues the last range extends it.
inline void appendRange(std::vector<ByteRange> &ranges, uint64_t address, uint64_t bytes) {
  if (!ranges.empty() && ranges.back().address + ranges.back().bytes == address)
    ranges.back().bytes += bytes;
  else
    ranges.push_back({address, bytes});
}

} // namespace tlc::emulator
