// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program by the text of its request. With the name of the build it decides the program, but how it does
/// only the compiler knows: the cache keeps which program a name has.
#pragma once

#include "runtime/cache/Key.h"

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace tlc {

struct ProgramName {
  std::string_view kernel;                                           ///< one of tlc's own
  const std::map<std::string, std::string, std::less<>> &parameters; ///< those that are given
  std::string_view target;
  std::chrono::nanoseconds waitLimit{0};

  /// For these builds (`buildOfPrograms`).
  Key key(std::string_view build) const;
  /// Its line in a list of `tlc prewarm`, or how that begins.
  std::string text() const;
};

} // namespace tlc
