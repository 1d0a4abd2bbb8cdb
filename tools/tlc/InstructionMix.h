// SPDX-License-Identifier: Apache-2.0
/// \file
/// Of which kinds the instructions of a kernel's PTX are, by role and by line of the source.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Enum.h"

#include "llvm/ADT/StringRef.h"

#include <array>
#include <string>
#include <vector>

namespace tlc::driver {

/// - `product`: matrix instructions
/// - `bulkCopy`: copies by the TMA; `asyncCopy`: cp.async
/// - `shared`, `global`, `local`, `tensorMemory`: accesses; local memory is the stack
/// - `sync`: barriers, fences, waits, mbarriers; `exchange`: shuffles, votes
/// - `special`: exponentials, logarithms, reciprocals, quotients
/// - `move`: copies of registers, parameters
#define TLC_INSTRUCTION_KINDS(X)                                                                             \
  X(product)                                                                                                 \
  X(bulkCopy)                                                                                                \
  X(asyncCopy)                                                                                               \
  X(shared)                                                                                                  \
  X(global)                                                                                                  \
  X(local)                                                                                                   \
  X(tensorMemory) X(sync) X(exchange) X(floating) X(special) X(conversion) X(integer) X(move) X(control)
TLC_ENUM(InstructionKind, TLC_INSTRUCTION_KINDS)
TLC_ENUM_NAMES(InstructionKind, TLC_INSTRUCTION_KINDS)
inline constexpr size_t instructionKinds = size_t(InstructionKind::control) + 1;

InstructionKind kindOf(llvm::StringRef opcode);

/// Instructions in the text, not how often they run.
struct KindCounts {
  std::array<unsigned, instructionKinds> counts{};
  unsigned total() const;
  unsigned &operator[](InstructionKind kind) { return counts[size_t(kind)]; }
  unsigned operator[](InstructionKind kind) const { return counts[size_t(kind)]; }
};

struct InstructionMix {
  struct OfRole {
    std::string name; ///< empty for what several roles execute
    KindCounts kinds;
    unsigned registers = 0; ///< that its setmaxnreg asks for; 0 without one
  };
  struct OfLine {
    std::string place; ///< "Gemm.cpp:41", with the folders that the PTX names; empty if it names none
    KindCounts kinds;
  };
  KindCounts all;
  std::vector<OfRole> roles;      ///< in the launch's order, then what several share
  std::vector<OfLine> lines;      ///< most instructions first
  std::vector<unsigned> barriers; ///< numbers of barriers, in order
  bool computesBarriers = false;  ///< other numbers are computed: of warpgroups
};

/// Of one launch; nothing is counted where the PTX has no such entry.
InstructionMix mixOf(llvm::StringRef ptx, const Launch &launch);

/// What an entry promises of its launches; 0 where it does not say.
struct LaunchBounds {
  unsigned threads = 0;   ///< .maxntid
  unsigned residents = 0; ///< .minnctapersm
};
LaunchBounds boundsOf(llvm::StringRef ptx, llvm::StringRef entry);

} // namespace tlc::driver
