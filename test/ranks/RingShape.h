// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tile of f32 that ranks pass around.
#pragma once

#include <cstdint>

namespace tlc::test {
inline constexpr int64_t ringRows = 16, ringColumns = 32;
} // namespace tlc::test
