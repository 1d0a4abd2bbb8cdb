// SPDX-License-Identifier: Apache-2.0
/// \file
/// Traced programs from one process to another.
#pragma once

#include "compiler/dsl/Program.h"

#include <string>
#include <string_view>

namespace tlc::kernels {

/// The module in MLIR's bytecode, with its places, or the mistakes.
std::string packProgram(dsl::Program program);
/// What `unpackProgram` makes a program of these mistakes from.
std::string packMistakes(const std::vector<dsl::Diagnostic> &mistakes);
dsl::Program unpackProgram(std::string_view name, std::string_view bytes);

} // namespace tlc::kernels
