// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many registers of a thread fragments take at once, by their layouts: an estimate of what the machine's
/// compiler must hold or spill.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

struct LiveFragment {
  mlir::Value value;
  int64_t registers = 0; ///< of each thread
};

/// The place where live fragments take most registers.
struct RegisterPeak {
  mlir::Operation *op = nullptr; ///< null where there are no fragments
  int64_t registers = 0;
  std::vector<LiveFragment> fragments; ///< live there, the largest first
};

/// Registers of each thread that a fragment with a layout takes; none for truth values, which are computed
/// where they are used.
int64_t registersOf(mlir::Value fragment);

/// Expects layouts. Looks at the operations of a role, or of a kernel outside of its roles. Elementwise
/// expressions are taken to be computed element by element, and cheap fragments where they are used.
RegisterPeak registerPeak(mlir::Operation *team);

} // namespace tlc::tile
