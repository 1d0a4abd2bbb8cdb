// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/StreamChecks.h"

#include <fmt/format.h>

using namespace tlc;

Result<void> tlc::checkTimed(const Event &from, const Event &to, bool areOwn, std::string_view device) {
  if (!areOwn)
    return Error{.message = fmt::format("expected two events that {} has recorded, but got one of another "
                                        "device",
                                        device)};
  for (const Event *event : {&from, &to})
    if (event->time == EventTime::ignored)
      return Error{.message = fmt::format("expected two events with times, but the {} one was recorded "
                                          "without; record it with EventTime::measured",
                                          event == &from ? "first" : "second")};
  return {};
}

Error tlc::errorInCapture(std::string_view attempt) {
  return {.message = fmt::format("cannot {} while this thread captures a stream; do it before the capture",
                                 attempt)};
}

Error tlc::errorOfLoadInCapture(std::string_view program) {
  return {.message =
              fmt::format("cannot load '{}' while a stream is captured; load it before the capture, as "
                          "its first call does; 'tlc prewarm' compiles it ahead of that",
                          program)};
}

Error tlc::errorOfCapturedStream(std::string_view attempt) {
  return {.message = fmt::format("cannot {} a captured stream; do it before or after the capture", attempt)};
}

Error tlc::errorOfDefaultStream() {
  return {.message = "cannot capture the default stream; use Device::createStream"};
}

Error tlc::errorOfSecondCapture() { return {.message = "this thread already captures a stream"}; }

Result<void> tlc::checkMovedInGraph(std::string_view program, const LaunchPlan &plan,
                                    size_t capturedVariant) {
  auto refuse = [&](std::string_view reason) -> Result<void> {
    return Error{.message =
                     fmt::format("a tensor of '{}' has moved since it was captured in this graph, where "
                                 "it cannot move because {}; capture it again",
                                 program, reason)};
  };
  if (!plan.transfers.empty())
    return refuse("the program has transfers");
  if (plan.variantIndex != capturedVariant)
    return refuse(
        fmt::format("its new address is aligned otherwise and takes variant '{}'", plan.variant->name));
  return {};
}
