// SPDX-License-Identifier: Apache-2.0
/// \file
/// PTX text to `Module`. Errors name the PTX line.
#pragma once

#include "runtime/emulator/ptx/Module.h"
#include "runtime/support/Result.h"

#include <string_view>

namespace tlc::emulator {

Result<Module> parseModule(std::string_view text);

} // namespace tlc::emulator
