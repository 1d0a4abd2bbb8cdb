// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which bytes of shared and of global memory a copy by a tensor map exchanges.
#pragma once

#include "runtime/emulator/math/TensorMap.h"

namespace tlc::emulator {

/// The shared address of the byte that a copy of the box at `address` exchanges with a global one; nothing
/// where that is outside of the box.
std::optional<uint32_t> sharedPlaceOf(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use,
                                      uint32_t address, uint64_t global);
/// The reverse; nothing where the box is outside of the tensor.
std::optional<uint64_t> globalPlaceOf(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use,
                                      uint32_t address, uint32_t shared);

} // namespace tlc::emulator
