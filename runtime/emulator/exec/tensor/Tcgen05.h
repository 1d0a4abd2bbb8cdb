// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts of tcgen05: what warps do with tensor memory (Tcgen05Memory.cpp,
/// Tcgen05Move.cpp), and what single threads issue (Tcgen05Mma.cpp, Tcgen05Issue.cpp), which a
/// pipe executes in the order of issue.
#pragma once

#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/core/State.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/math/TensorMma.h"

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

/// The value that all active lanes must agree on; nothing with the error set.
std::optional<uint32_t> uniformValue(Warp &warp, const Instruction &instruction, Slot slot, uint32_t active,
                                     std::string_view what);
/// False, with the error set, when not all columns are allocated in the block.
bool checkTensorColumns(Warp &warp, const Instruction &instruction, Block &block, uint64_t column,
                        uint64_t columns);
/// "64 at 0x0, 32 at 0x40", or "none".
std::string allocationsText(const TensorMemory &memory);

// --- what goes to the pipe (Tcgen05Issue.cpp) -----------------------------------------

/// What the observer notes of an operation with these accesses, or null.
std::shared_ptr<OperationNote> noteOf(Warp &warp, const Instruction &instruction,
                                      std::span<const TensorTouch> touches);
/// Queues what completes after all that the pipe has been given before; `note`
/// is null when there is no observer, and of commits.
void pushOnPipe(Warp &warp, const Instruction &instruction, const TensorPair &pair,
                std::shared_ptr<OperationNote> note, std::function<bool()> run, const AsyncWork &work = {});
/// Shared memory that an operation reads in a block of the cluster.
bool touchShared(Warp &warp, const Instruction &instruction, const Block &block,
                 const std::vector<ByteRange> &ranges);
/// An operation that completes needs the columns that were there at its issue.
bool checkNotFreed(Warp &warp, const Instruction &instruction, const Block &block, uint32_t column,
                   uint32_t columns);
/// The lane of an address must be one of these.
bool checkLane(Warp &warp, const Instruction &instruction, std::string_view what, TensorAddress address,
               std::initializer_list<unsigned> lanes);
inline TensorBlock tensorBlock(Block &block) { return {block.shared(), block.tensorMemory.cells()}; }

} // namespace tlc::emulator
