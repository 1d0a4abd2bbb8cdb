// SPDX-License-Identifier: Apache-2.0
/// \file
/// How long waits on a device may last before they give up: the time of `--bounded-waits`.
#pragma once

#include "runtime/support/Result.h"

#include <chrono>
#include <string>
#include <string_view>

namespace tlc {

/// The limit of that many seconds, unless it is out of bounds: a useful one is far above what waits of
/// correct runs take. Errors call it `name`.
Result<std::chrono::nanoseconds> waitLimitOf(double seconds, std::string_view name);

/// What asks for it on a command line, after a space; nothing for no limit.
std::string flagOfWaitLimit(std::chrono::nanoseconds limit);

} // namespace tlc
