// SPDX-License-Identifier: Apache-2.0
/// \file
/// The edge of the C interface, which nothing that is thrown crosses.
#pragma once

#include "runtime/support/Result.h"
#include "tools/libtlc/tlc.h"

#include <exception>
#include <new>

namespace tlc {

inline tlc_status statusOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::invalidArgument:
    return TLC_INVALID_ARGUMENT;
  case ErrorKind::environment:
    return TLC_ENVIRONMENT;
  case ErrorKind::execution:
    return TLC_EXECUTION;
  }
  return TLC_INTERNAL;
}

/// The status of `body() -> Result<void>`. `remember(const char *)` gets the reason of a failure; it throws
/// nothing.
template <class Body, class Remember> tlc_status guarded(Body &&body, Remember &&remember) {
  try {
    Result<void> result = body();
    if (result)
      return TLC_OK;
    remember(result.error().message.c_str());
    return statusOf(result.error().kind);
  } catch (const std::bad_alloc &) {
    remember("out of memory");
    return TLC_ENVIRONMENT;
  } catch (const std::exception &thrown) {
    remember(thrown.what());
  } catch (...) {
    remember("something unknown was thrown");
  }
  return TLC_INTERNAL;
}

} // namespace tlc
