// SPDX-License-Identifier: Apache-2.0
/// \file
/// What both devices ask of events, streams that are captured, and graphs.
#pragma once

#include "runtime/device/LaunchPlan.h"

#include <string_view>

namespace tlc {

/// Succeeds if there is a time between the events: the device has recorded both (`areOwn`), with their times.
Result<void> checkTimed(const Event &from, const Event &to, bool areOwn, std::string_view device);

/// While this thread captures a stream; `attempt` is what it cannot do then: "allocate memory".
Error errorInCapture(std::string_view attempt);
/// For one that loads a program, or needs one that is not loaded.
Error errorOfLoadInCapture(std::string_view program);
/// The stream is captured; `attempt` is what cannot be done to it then: "launch a graph on".
Error errorOfCapturedStream(std::string_view attempt);

Error errorOfDefaultStream();
Error errorOfSecondCapture();

/// Succeeds if a launch of a graph can have the addresses of `plan`: it launches the variant that was
/// captured, and makes no transfers.
Result<void> checkMovedInGraph(std::string_view program, const LaunchPlan &plan, size_t capturedVariant);

} // namespace tlc
