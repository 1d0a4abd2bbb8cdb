// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of a PTX text as instructions, which registers they touch, and where control goes. For
/// analyses of what the backend emitted; it knows no instruction but those that end a block.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace tlc {

/// A register that an instruction names.
struct PtxAccess {
  unsigned reg = 0;     ///< number in the function
  unsigned operand = 0; ///< which of the instruction's operands it is in
  bool inVector = false;
  bool isWrite = false; ///< the first operand, unless that is an address or the instruction has no result
};

struct PtxInstruction {
  llvm::StringRef opcode; ///< with its modifiers
  llvm::StringRef operands;
  bool guarded = false;      ///< runs by a predicate, the register of its first access
  bool guardNegated = false; ///< where that is false
  unsigned line = 0;         ///< of the text
  unsigned file = 0, sourceLine = 0,
           sourceColumn = 0; ///< the last place that `.loc` named; line 0 if none did
  unsigned firstAccess = 0, endAccess = 0;
};

/// Instructions that run one after the other.
struct PtxBlock {
  unsigned first = 0, end = 0;
  std::vector<unsigned>
      successors; ///< the next block, if control may go on there, then targets of its branch
};

struct PtxFunction {
  llvm::StringRef name;
  std::vector<PtxInstruction> instructions;
  std::vector<PtxAccess> accesses;
  std::vector<llvm::StringRef> registers; ///< names by number
  std::vector<PtxBlock> blocks;           ///< the first is the entry
};

struct PtxText {
  std::vector<PtxFunction> functions;
  std::vector<std::pair<unsigned, llvm::StringRef>> files; ///< numbers and names of `.file`
};

/// What it returns refers to `text`. A branch whose target it does not find may go anywhere.
PtxText readPtx(llvm::StringRef text);

} // namespace tlc
