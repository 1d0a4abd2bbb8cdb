// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions that the system defines: vprintf, malloc, free, __assertfail.
#pragma once

#include "runtime/emulator/exec/core/Program.h"

#include <array>
#include <span>

namespace tlc::emulator {

struct Frame;

struct BuiltinCall {
  struct Place {
    uint32_t offset = 0, bytes = 0; ///< in local memory, or in the caller's frame
  };
  const Frame *callerFrame = nullptr;
  std::vector<Place> parameters, results;
};

struct Builtin {
  std::string_view name;
  Eval eval = nullptr;
  std::array<uint8_t, 5> sizes = {}; ///< bytes of the parameters
  uint8_t parameterCount = 0, resultBytes = 0;

  std::span<const uint8_t> parameters() const { return std::span(sizes).first(parameterCount); }
  std::span<const uint8_t> results() const { return {&resultBytes, size_t(resultBytes != 0)}; }
};

/// Null for a name that the system does not define.
const Builtin *findBuiltin(std::string_view name);

} // namespace tlc::emulator
