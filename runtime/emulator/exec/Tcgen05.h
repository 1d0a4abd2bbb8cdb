// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts of tcgen05: what warps do with tensor memory (Tcgen05Memory.cpp),
/// and what single threads issue (Tcgen05Issue.cpp), which a pipe executes in
/// the order of issue.
#pragma once

#include "runtime/emulator/exec/Decoder.h"
#include "runtime/emulator/exec/State.h"
#include "runtime/emulator/exec/TensorMemory.h"

namespace tlc::emulator {

// Decode what follows the name.
void decodeTensorAllocation(Decoder &decoder);
void decodeTensorFree(Decoder &decoder);
void decodeTensorRelinquish(Decoder &decoder);
void decodeTensorLoad(Decoder &decoder);
void decodeTensorStore(Decoder &decoder);
void decodeTensorMma(Decoder &decoder);
void decodeTensorCopy(Decoder &decoder);
void decodeTensorShift(Decoder &decoder);
void decodeTensorCommit(Decoder &decoder);

/// Takes .cta_group; all instructions of a kernel name the same.
unsigned takeCtaGroup(Decoder &decoder);

/// The blocks that an instruction of a cta_group works on: the warp's own, or
/// both of its pair, the even one first. The second is null for cta_group::1;
/// none with the error set where a pair has no second block.
struct TensorPair {
  Block *blocks[2] = {};
  unsigned count = 0;
};
TensorPair tensorPair(Warp &warp, const Instruction &instruction, unsigned ctaGroup);

/// False, with the error set, when not all columns are allocated in the block.
bool checkTensorColumns(Warp &warp, const Instruction &instruction, Block &block, uint32_t column,
                        uint32_t columns);
/// "columns 0 to 63", or "no columns".
std::string allocationsText(const TensorMemory &memory);

} // namespace tlc::emulator
