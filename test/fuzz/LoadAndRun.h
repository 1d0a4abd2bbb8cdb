// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is fuzzed: any text is loaded, and what loads is run for a few steps.
#pragma once

#include "runtime/support/Result.h"

#include <string_view>

namespace tlc::emulator::fuzz {

/// Loads the text; every entry of a module that loads is launched on small arrays and given few instructions.
/// The result is that of loading; how launches end does not matter, only that they do.
Result<void> loadAndRun(std::string_view text);

} // namespace tlc::emulator::fuzz
