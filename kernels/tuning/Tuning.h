// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values of open parameters that were measured, from the files of a folder (`tlc tune`, docs/tuning.md).
///
///     Result<Tuning> tuning = Tuning::read("tuning");
///     Tuned tuned = tuning->apply(request, device->properties());
///     library.compile(tuned.request, options, log);
#pragma once

#include "kernels/library/Library.h"
#include "kernels/tuning/TuningLine.h"
#include "runtime/device/Device.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tlc::kernels {

/// Names the content of a kernel: this build of tlc, and the code of the file that has the kernel.
std::string buildOf(const Kernel &kernel);

/// A line for the request on a device, without values, time and reason. An open parameter that the request
/// was given a value of is a part of the problem, as are all others that are no sizes.
TuningLine problemOf(const Request &request, std::string_view device);

/// True if the request was given a value of the parameter, other than `auto`.
bool isGiven(const Request &request, const Parameter &parameter);

/// What came of a request.
struct Tuned {
  Request request;
  bool isChanged = false;                ///< a line has given values
  std::vector<std::string> remarks = {}; ///< of lines that were ignored, and why
};

class Tuning {
public:
  /// The lines of all files `*.jsonl` in the folder. An error if it cannot be read, or has a malformed line,
  /// with the place.
  static Result<Tuning> read(const std::filesystem::path &folder);

  /// The request with values of the matching line whose measured extents are nearest, the last of equals.
  /// Without one the request as it is. A line matches if device, kernel, build and all parameters that are no
  /// sizes are equal, and the sizes are in its ranges. Lines whose values the kernel refuses here are
  /// ignored.
  Tuned apply(const Request &request, const DeviceProperties &device) const;

private:
  std::filesystem::path folder;
  std::vector<TuningLine> lines;
  size_t ofOtherVersions = 0;
};

} // namespace tlc::kernels
