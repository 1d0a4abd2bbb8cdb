// SPDX-License-Identifier: Apache-2.0
/// \file
/// The edge of a C interface, which no exception crosses.
#pragma once

#include "runtime/support/Result.h"

#include <exception>
#include <new>

namespace tlc {

/// What a call of a C interface came to; the numbers are part of those interfaces.
enum class CallStatus { ok = 0, invalidArgument = 1, environment = 2, execution = 3, internal = 4 };

constexpr CallStatus callStatusOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::invalidArgument:
    return CallStatus::invalidArgument;
  case ErrorKind::environment:
    return CallStatus::environment;
  case ErrorKind::execution:
    return CallStatus::execution;
  }
  return CallStatus::internal;
}

/// The text of a thread's last failure.
class LastError {
public:
  void remember(const char *reason) noexcept {
    try {
      text = reason;
    } catch (...) {
      text = "out of memory"; // short enough to need none
    }
  }
  const char *get() const { return text.c_str(); }

private:
  std::string text;
};

/// The status of `body() -> Result<void>`. `remember(const char *)` gets the reason of a failure; it throws
/// nothing.
template <class Body, class Remember> CallStatus guardedCall(Body &&body, Remember &&remember) {
  try {
    Result<void> result = body();
    if (result)
      return CallStatus::ok;
    remember(result.error().message.c_str());
    return callStatusOf(result.error().kind);
  } catch (const std::bad_alloc &) {
    remember("out of memory");
    return CallStatus::environment;
  } catch (const std::exception &thrown) {
    remember(thrown.what());
  } catch (...) {
    remember("something unknown was thrown");
  }
  return CallStatus::internal;
}

} // namespace tlc
