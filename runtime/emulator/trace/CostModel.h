// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an instruction costs: a pure function of its name and the target's
/// rates. PTX is not machine code, so this is an estimate; docs/emulator.md says
/// of what kind.
#pragma once

#include "runtime/target/Timing.h"

#include <cstdint>
#include <string_view>

namespace tlc::emulator {

/// What executes an instruction of a warp.
enum class ExecutionUnit : uint8_t {
  none,    ///< nothing: the assembler folds the instruction into its neighbours
  control, ///< the scheduler alone: branches, barriers, what issues an asynchronous operation
  floats,  ///< the units below belong to one scheduler
  integers,
  doubles,
  special,
  matrix,    ///< mma.sync
  loadStore, ///< one for the multiprocessor: memory, shuffles
};
inline constexpr unsigned executionUnits = 8;

struct InstructionCost {
  ExecutionUnit unit = ExecutionUnit::none;
  unsigned cycles = 0;  ///< that the unit is busy, for a whole warp
  unsigned latency = 0; ///< until results can be used
  /// Bytes between L2 and the multiprocessor, of each lane.
  unsigned loadBytes = 0, storeBytes = 0;
};

/// Of "ld.global.v4.b32" and the like.
InstructionCost costOf(std::string_view name, const TimingFacts &facts);

/// Cycles of a matrix product's arithmetic on all tensor cores of a multiprocessor: operands of 8 bits take
/// half as long as those of 16.
double arithmeticCycles(uint64_t multiplyAdds, unsigned operandBits, const TimingFacts &facts);

/// Cycles of a matrix product on all tensor cores of a multiprocessor: its
/// arithmetic, or reading its operands from shared memory if that takes longer.
uint64_t matrixCycles(uint64_t multiplyAdds, unsigned operandBits, uint64_t sharedBytes,
                      const TimingFacts &facts);

} // namespace tlc::emulator
