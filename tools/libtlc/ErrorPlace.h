// SPDX-License-Identifier: Apache-2.0
/// \file
/// The source line that an error is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tlc {

struct ErrorPlace {
  std::string_view file; ///< part of the text
  int32_t line = 0, column = 0;
};

/// Of the first line of the text that begins as diagnostics do: "file.cpp:12:3: ".
std::optional<ErrorPlace> placeOf(std::string_view text);

} // namespace tlc
