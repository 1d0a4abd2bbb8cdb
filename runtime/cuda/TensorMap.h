// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor maps in the bits that the hardware reads.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/device/LaunchPlan.h"

namespace tlc {

/// Writes the 128 bytes of a tensor map of memory at `address`, which for one that is not empty is that of
/// `values`.
CUresult encodeTensorMap(const Driver &driver, const TensorMapValues &values, void *address,
                         std::byte *destination);
/// Changes the address of a tensor map of 128 bytes, which takes less than to encode it.
CUresult moveTensorMap(const Driver &driver, void *address, std::byte *map);

} // namespace tlc
