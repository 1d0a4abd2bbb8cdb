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

/// The first place in the text of a module with brackets nested too deeply, through aliases too, an
/// expression of too many terms, a number of too many digits, a result of too high a number, or a resource of
/// no alignment.
std::optional<TextProblem> findExcess(std::string_view text);

} // namespace tlc
