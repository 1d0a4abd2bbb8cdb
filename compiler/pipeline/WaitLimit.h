// SPDX-License-Identifier: Apache-2.0
/// \file
/// `CompileOptions::waitLimit` in seconds, as users give it.
#pragma once

#include "compiler/pipeline/Options.h"
#include "runtime/support/Result.h"

#include <chrono>
#include <fmt/format.h>
#include <string_view>

namespace tlc {

/// That limit, unless it is out of bounds; errors call it `name`. Inline, for libtlc, which has no compiler.
inline Result<std::chrono::nanoseconds> waitLimitOf(double seconds, std::string_view name) {
  using Seconds = std::chrono::duration<double>;
  if (!(Seconds(seconds) >= leastWaitLimit && Seconds(seconds) <= mostWaitLimit))
    return Error{ErrorKind::invalidArgument,
                 fmt::format("expected {} from {} to {} seconds, but got {}", name,
                             Seconds(leastWaitLimit).count(), Seconds(mostWaitLimit).count(), seconds)};
  return std::chrono::round<std::chrono::nanoseconds>(Seconds(seconds));
}

} // namespace tlc
