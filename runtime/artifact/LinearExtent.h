// SPDX-License-Identifier: Apache-2.0
/// \file
/// Extents that give the value of a dimension, such as the n + 1 of a table of offsets.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <optional>
#include <string>
#include <string_view>

namespace tlc {

/// factor * dimension + offset, where the factor is not 0.
struct LinearExtent {
  int64_t dimension = 0, factor = 1, offset = 0;

  /// The value of the dimension, from 0 to `maxExtent`, that gives this extent; nothing if none does.
  std::optional<int64_t> solve(int64_t extent) const;
  /// "2 n + 1".
  std::string text(std::string_view name) const;
};

/// Nothing if the expression is not of that form.
std::optional<LinearExtent> linearExtentOf(const HostExpr &extent);

} // namespace tlc
