// SPDX-License-Identifier: Apache-2.0
/// \file
/// The edge of the C interface, which nothing that is thrown crosses.
#pragma once

#include "runtime/support/Guarded.h"
#include "tools/libtlc/tlc.h"

namespace tlc {

static_assert(TLC_OK == int(CallStatus::ok) && TLC_INVALID_ARGUMENT == int(CallStatus::invalidArgument) &&
              TLC_ENVIRONMENT == int(CallStatus::environment) &&
              TLC_EXECUTION == int(CallStatus::execution) && TLC_INTERNAL == int(CallStatus::internal));

/// `guardedCall` as a tlc_status.
template <class Body, class Remember> tlc_status guarded(Body &&body, Remember &&remember) {
  return static_cast<tlc_status>(guardedCall(body, remember));
}

} // namespace tlc
