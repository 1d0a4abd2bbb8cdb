// SPDX-License-Identifier: Apache-2.0
/// \file
/// Errors of calls.
#pragma once

#include "runtime/support/Result.h"

#include <fmt/format.h>
#include <utility>

namespace tlc::kernels {

template <class... Values> Error mistake(fmt::format_string<Values...> text, Values &&...values) {
  return {.message = fmt::format(text, std::forward<Values>(values)...)};
}

} // namespace tlc::kernels
