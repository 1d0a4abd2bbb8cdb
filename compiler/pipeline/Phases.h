// SPDX-License-Identifier: Apache-2.0
/// \file
/// The phases of a program on its way from the DSL to PTX. A phase is named after what holds in it;
/// docs/tour.md tells them in order. At each one compilation can be stopped, dumped, verified and resumed.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tlc {

enum class Phase {
  input,       ///< as the DSL traced it, canonical
  promoted,    ///< variables are values
  atoms,       ///< every product and copy has its instruction
  specialized, ///< roles, rings and register budgets are there
  scheduled,   ///< every operation of a pipelined loop has a stage
  pipelined,   ///< stages overlap
  laidOut,     ///< every fragment and buffer has a layout
  planned,     ///< shared memory has offsets, synchronous code its barriers
  simt,        ///< the program of one thread
  nvvm,        ///< LLVM dialect and instructions
  llvm,        ///< optimised LLVM IR
  ptx,         ///< text for the driver
};

inline constexpr std::array<std::string_view, 12> phaseNames = {
    "input",    "promoted", "atoms", "specialized", "scheduled", "pipelined",
    "laid-out", "planned",  "simt",  "nvvm",        "llvm",      "ptx"};

constexpr std::string_view toString(Phase phase) { return phaseNames[static_cast<size_t>(phase)]; }

constexpr std::optional<Phase> parsePhase(std::string_view name) {
  for (size_t i = 0; i != phaseNames.size(); ++i)
    if (phaseNames[i] == name)
      return static_cast<Phase>(i);
  return std::nullopt;
}

} // namespace tlc
