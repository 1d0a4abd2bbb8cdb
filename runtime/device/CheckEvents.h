// SPDX-License-Identifier: Apache-2.0
/// \file
/// What both devices ask of events.
#pragma once

#include "runtime/device/Device.h"

#include <string_view>

namespace tlc {

/// Succeeds if there is a time between the events: the device has recorded both (`areOwn`), with their times.
Result<void> checkTimed(const Event &from, const Event &to, bool areOwn, std::string_view device);

} // namespace tlc
