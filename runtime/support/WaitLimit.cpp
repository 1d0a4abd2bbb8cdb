// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/WaitLimit.h"

#include <fmt/format.h>

using namespace tlc;

namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds least = std::chrono::milliseconds(1), most = std::chrono::hours(24);

} // namespace

Result<std::chrono::nanoseconds> tlc::waitLimitOf(double seconds, std::string_view name) {
  if (!(Seconds(seconds) >= least && Seconds(seconds) <= most))
    return Error{ErrorKind::invalidArgument, fmt::format("expected {} from {} to {} seconds, but got {}",
                                                         name, least.count(), most.count(), seconds)};
  return std::chrono::round<std::chrono::nanoseconds>(Seconds(seconds));
}

std::string tlc::flagOfWaitLimit(std::chrono::nanoseconds limit) {
  return limit.count() == 0 ? "" : fmt::format(" --bounded-waits={}", Seconds(limit).count());
}
