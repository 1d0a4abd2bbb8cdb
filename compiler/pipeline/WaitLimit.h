// SPDX-License-Identifier: Apache-2.0
/// \file
/// `CompileOptions::waitLimit` in seconds, as users give it.
#pragma once

#include "runtime/support/Result.h"

#include <chrono>
#include <string_view>

namespace tlc {

/// That limit, unless it is out of bounds; errors call it `name`.
Result<std::chrono::nanoseconds> waitLimitOf(double seconds, std::string_view name);

} // namespace tlc
