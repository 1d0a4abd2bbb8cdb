// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions in PTX as text that stands in the middle of other functions: ptxas does not inline calls, and a
/// call makes it serialise products in flight.
#pragma once

#include "runtime/support/Result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tlc {

/// What a module of PTX gives to the module that it joins.
struct InlinePtx {
  /// By name: a block for LLVM's inline assembly. Operand 0 is what the function returns, 1 and so on are its
  /// arguments.
  std::map<std::string, std::string> bodies;
  /// Variables that bodies refer to.
  std::vector<std::string> declarations;
  /// As in a Target: 87 is .version 8.7.
  unsigned version = 0;
};

/// Takes a module of functions apart. Those whose names begin with `prefix` become bodies: their arguments
/// and results are numbers of 16, 32 or 64 bits. An error says what else the module needs: functions or
/// memory from elsewhere, functions that are called and not inlined, or shared memory.
Result<InlinePtx> inlinePtx(std::string_view module, std::string_view prefix);

} // namespace tlc
