// SPDX-License-Identifier: Apache-2.0
/// \file
/// What MLIR's parser must not see: it calls itself for whatever is nested, and allocates what a number says.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tlc {

/// Something in a text, and where.
struct TextProblem {
  size_t offset = 0;
  std::string message;
};

/// The first place in the text of a module that is nested too deeply, has an expression of too many terms, or
/// names one of too many results.
std::optional<TextProblem> findExcess(std::string_view text);

} // namespace tlc
