// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor maps in the bits that the hardware reads.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/device/LaunchPlan.h"

#include <array>
#include <mutex>

namespace tlc {

/// Encodes tensor maps and remembers the last ones, because a program is
/// usually launched again on the same tensors. Safe to use from several threads.
class TensorMapEncoder {
public:
  /// Writes 128 bytes.
  CUresult encode(const Driver &driver, const TensorMapValues &values, std::byte *destination);

private:
  struct Entry {
    TensorMapValues values;
    CUtensorMap map;
    bool valid = false;
  };
  std::mutex mutex;
  std::array<Entry, 64> entries; ///< by hash of the values; a collision replaces
};

} // namespace tlc
