// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lanes that execute a .sync instruction together.
#pragma once

#include "runtime/emulator/exec/core/Program.h"

#include <array>
#include <span>

namespace tlc::emulator {

/// Parts of them may stand at different places of the program, each at an instruction of its own; these
/// differ in their operands alone.
class Members {
public:
  struct Part {
    uint32_t lanes = 0;
    const Instruction *instruction = nullptr;
  };
  Members(uint32_t lanes, const Instruction &instruction) { add(lanes, instruction); }
  void add(uint32_t lanes, const Instruction &instruction) {
    all[count++] = {lanes, &instruction};
    together |= lanes;
  }

  uint32_t lanes() const { return together; }
  std::span<const Part> parts() const { return std::span(all).first(count); }

private:
  std::array<Part, 32> all; ///< the first `count` are set
  unsigned count = 0;
  uint32_t together = 0;
};

} // namespace tlc::emulator
