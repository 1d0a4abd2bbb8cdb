// SPDX-License-Identifier: Apache-2.0
/// \file
/// A text of any bytes on one line of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace tlc {

/// The text, cut after `most` bytes like an excerpt (Excerpt.h); control characters and bytes that are no
/// UTF-8 as escapes of C.
std::string printable(std::string_view text, size_t most);

} // namespace tlc
