// SPDX-License-Identifier: Apache-2.0
/// \file
/// A line of the user's source.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tlc::driver {

struct SourcePlace {
  llvm::StringRef file;
  unsigned line = 0;
  unsigned column = 0;
};

/// Splits "file:12:3".
inline std::optional<SourcePlace> parsePlace(llvm::StringRef location) {
  SourcePlace place;
  auto [rest, column] = location.rsplit(':');
  auto [file, line] = rest.rsplit(':');
  place.file = file;
  if (file.empty() || line.getAsInteger(10, place.line) || column.getAsInteger(10, place.column))
    return std::nullopt;
  return place;
}

} // namespace tlc::driver
