// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a lane asks of cp.async.bulk, for observers that ask where bytes come from.
#pragma once

#include "runtime/emulator/exec/core/State.h"
#include "runtime/emulator/math/TensorMap.h"

#include <array>
#include <optional>

namespace tlc::emulator {

struct BulkOperands {
  uint64_t to = 0, from = 0; ///< addresses; of a tensor copy the one that is no map
  bool toGlobal = false, fromGlobal = false;
  bool combines = false;                     ///< a reduction
  std::optional<EmulatedTensorMap> map = {}; ///< of a tensor copy
  std::array<int32_t, 2 * EmulatedTensorMap::maxRank - 2> coordinates = {};
};

/// Before the instruction runs; nothing where it is another one, or has no tensor map.
std::optional<BulkOperands> bulkOperandsOf(Warp &warp, const Instruction &instruction, unsigned lane);

} // namespace tlc::emulator
