// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/CheckEvents.h"

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
