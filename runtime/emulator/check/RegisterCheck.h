// SPDX-License-Identifier: Apache-2.0
/// \file
/// Registers and local memory. A register that nothing has written may be moved
/// and computed with, as compilers do with values that nobody needs; it must not
/// become an address, a stored value or a decision. Products and loads of tensor
/// memory have registers while they are in flight, and wgmma.fence comes between
/// other uses of a register and a product's; a move has none of its own, its
/// result stands for what it moves.
#pragma once

#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/core/State.h"

#include <unordered_map>

namespace tlc::emulator {

class RegisterCheck {
public:
  explicit RegisterCheck(Cluster &cluster);

  // Of each instruction, so without a call where there is nothing to do.
  void execute(Warp &warp, const Instruction &instruction, uint32_t lanes) {
    WarpRegisters &registers = registersOf(warp);
    if (!registers.uses.empty())
      checkUse(warp, instruction, registers);
    if (instruction.flow == Flow::lanes)
      return;
    uint32_t *const written = registers.written.data();
    uint32_t every = ~0u;
    for (size_t i = 0; i < instruction.slotCount; ++i)
      if (const Slot &slot = instruction.slots[i]; !slot.written && !slot.constant)
        every &= written[indexOf(slot)];
    if ((lanes & ~every) != 0)
      return follow(warp, instruction, registers, lanes);
    for (size_t i = 0; i < instruction.slotCount; ++i)
      if (const Slot &slot = instruction.slots[i]; slot.written)
        written[indexOf(slot)] |= lanes;
  }
  void evaluateGuard(Warp &warp, const Instruction &instruction, uint32_t lanes) {
    if (const uint32_t unwritten = lanes & ~registersOf(warp).written[instruction.guard / registerGranule])
      reportUnwritten(warp, instruction, instruction.guard, unwritten);
  }
  void combineLanes(const Warp &warp, const Members &members);
  void shuffleLanes(const Warp &warp, const Members &members, std::span<const uint32_t> sources);

  void accessLocal(const Warp &warp, const Instruction &instruction, const Touch &access);
  void copyLocal(const Warp &warp, unsigned lane, uint64_t to, uint64_t from, uint64_t bytes);
  void fillLocal(const Warp &warp, unsigned lane, uint64_t at, uint64_t bytes);

  // --- what is in flight ----------------------------------------------------------
  void issueWgmma(Warp &warp, const Instruction &instruction, const ProductRegisters &used, uint32_t number);
  void fenceWgmma(const Warp &warp) { ++registersOf(warp).fences; }
  void waitWgmma(const Warp &warp, uint64_t completed);
  void loadTensor(const Warp &warp, const Instruction &instruction);
  void waitTensorLoads(const Warp &warp) {
    registersOf(warp).tensorLoadsWaited = registersOf(warp).tensorLoads;
  }

private:
  /// The last use of a register, and what has it in flight.
  struct RegisterUse {
    uint32_t pc = 0;
    uint32_t fences = 0;     ///< wgmma.fence until then, plus 1; 0: none
    uint32_t shape = 0;      ///< of the product that used it; 0: the thread did itself
    uint32_t product = 0;    ///< wgmma that has it
    uint32_t tensorLoad = 0; ///< tcgen05.ld that has it
  };
  /// Of a warp.
  struct WarpRegisters {
    std::vector<uint32_t> written; ///< by register: lanes in which something has
    /// Bits that are written of registers that are so in part, by register and lane; others: none.
    std::unordered_map<size_t, std::array<uint64_t, 32>> writtenBits;
    std::vector<uint8_t> writtenLocal; ///< bits of each byte of lane 0, then of lane 1, ...
    std::vector<RegisterUse> uses;     ///< by register; empty: no product has any
    uint32_t wgmmaWaited = 0;
    uint32_t tensorLoads = 0, tensorLoadsWaited = 0;
    uint32_t fences = 0; ///< wgmma.fence until now
  };
  WarpRegisters &registersOf(const Warp &warp) { return warps[warp.block->rank * warpsOfBlock + warp.index]; }
  static size_t indexOf(const Slot &slot) { return slot.offset / registerGranule; }
  static uint32_t writtenIn(const WarpRegisters &registers, const Slot &slot) {
    return slot.constant ? ~0u : registers.written[indexOf(slot)];
  }
  static void setWritten(WarpRegisters &registers, const Slot &slot, uint32_t lanes, uint32_t written);
  static uint64_t writtenBits(const WarpRegisters &registers, const Slot &slot, unsigned lane);
  static void setWrittenBits(WarpRegisters &registers, const Slot &slot, unsigned lane, uint64_t bits);
  /// Which bits of the results, which are of the slots that are written in order, depend on none of the bits
  /// that nothing has written; by result and lane.
  using ResultBits = std::vector<std::array<uint64_t, 32>>;
  ResultBits independentBits(Warp &warp, const Instruction &instruction, const WarpRegisters &registers,
                             uint32_t lanes);
  /// What an instruction makes of operands that are not all written.
  void follow(Warp &warp, const Instruction &instruction, WarpRegisters &registers, uint32_t lanes);
  void checkUse(Warp &warp, const Instruction &instruction, WarpRegisters &registers);
  void reportRegister(Warp &warp, const Instruction &instruction, const Instruction *before,
                      const std::string &what, const std::string &missing);
  void reportUnwritten(Warp &warp, const Instruction &instruction, uint32_t offset, uint32_t lanes);

  Cluster &cluster;
  size_t warpsOfBlock;
  std::vector<WarpRegisters> warps;
};

} // namespace tlc::emulator
