// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is in machine code of another compiler.
#pragma once

#include "runtime/support/Result.h"

#include <string>
#include <string_view>
#include <vector>

namespace tlc::wrap {

/// The names of the functions in a cubin, an ELF file for GPUs. Trusts nothing; an error says what is wrong.
Result<std::vector<std::string>> functionsOfCubin(std::string_view bytes);

} // namespace tlc::wrap
