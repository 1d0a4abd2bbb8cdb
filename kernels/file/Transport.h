// SPDX-License-Identifier: Apache-2.0
/// \file
/// Traced programs from one process to another.
#pragma once

#include "compiler/dsl/Program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::kernels {

/// The module in MLIR's bytecode, with its places, or the mistakes.
std::string packProgram(dsl::Program program);
/// What `unpackProgram` makes a program of these mistakes from.
std::string packMistakes(const std::vector<dsl::Diagnostic> &mistakes);
/// A program with an error where neither wrote the bytes.
dsl::Program unpackProgram(std::string_view name, std::string_view bytes);

/// What an entry answers for some values of its parameters.
struct EntryTrace {
  double operations = 0; ///< of floating point
  std::string program;   ///< `unpackProgram`
  /// Of members of tables of addresses that have extents of their own, by the table's name.
  std::map<std::string, std::vector<std::vector<int64_t>>> extentsOfMembers = {};
};
std::string packTrace(const EntryTrace &trace);
/// Nothing if `packTrace` did not write the bytes.
std::optional<EntryTrace> unpackTrace(std::string_view bytes);

} // namespace tlc::kernels
