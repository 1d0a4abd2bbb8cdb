// SPDX-License-Identifier: Apache-2.0
/// \file
/// Descriptions of kernels that other compilers have compiled: text that says what the arguments are and how
/// the entries are launched. docs/aot.md has the language.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Result.h"

#include <string>
#include <string_view>
#include <vector>

namespace tlc::wrap {

/// Where a description says something. Both numbers begin at 1.
struct Place {
  unsigned line = 1, column = 1;
};

/// A launch as a description says it.
struct LaunchPlaces {
  Place entry, threads, cluster;
  std::vector<Place> parameters;
  std::vector<std::string> texts; ///< of the parameters: "n", "X.stride[0]"
};

/// An artifact without a target and without code, whose one variant has the launches.
struct Description {
  std::string file;
  Artifact artifact;
  std::vector<LaunchPlaces> launches;

  /// "saxpy.txt:3:7: " and the message.
  Error at(Place place, std::string_view message) const;
};

/// Errors have the place, in a file of that name.
Result<Description> parseDescription(std::string_view text, std::string_view file);

} // namespace tlc::wrap
