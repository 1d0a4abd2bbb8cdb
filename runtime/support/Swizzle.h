// SPDX-License-Identifier: Apache-2.0
/// \file
/// The exclusive-or patterns that TMA and the matrix units apply to shared memory
/// addresses: compiler, artifact and both devices speak of the same four.
#pragma once

#include <cstdint>

namespace tlc {

/// Bytes of a row that the pattern permutes in chunks of 16, by the row modulo 8.
enum class Swizzle : uint8_t { none, bytes32, bytes64, bytes128 };

} // namespace tlc
