// SPDX-License-Identifier: Apache-2.0
/// \file
/// The exclusive-or patterns that TMA and the matrix units apply to shared memory
/// addresses: compiler, artifact and both devices speak of the same four.
#pragma once

#include "runtime/support/Enum.h"

namespace tlc {

/// Bytes of a row that the pattern permutes in chunks of 16, by the row modulo 8.
#define TLC_SWIZZLES(X) X(none) X(bytes32) X(bytes64) X(bytes128)
TLC_ENUM(Swizzle, TLC_SWIZZLES)

} // namespace tlc
