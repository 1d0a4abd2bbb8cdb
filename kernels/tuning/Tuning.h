// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values of open parameters that were measured, from the files of a folder (`tlc tune`, docs/tuning.md).
///
///     Result<Tuning> tuning = Tuning::read("tuning");
///     Tuned tuned = tuning->apply(request, {device->properties(), options});
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

/// How programs are compiled and where they run.
struct TuningSetting {
  DeviceProperties device;
  CompileOptions options;
  std::optional<Alignment> variant = {}; ///< nothing: the one that the tensors allow
};

/// A line for the request, without values, time and reason. An open parameter that the request was given a
/// value of is a part of the problem, as are all others that are no sizes.
TuningLine problemOf(const Request &request, const TuningSetting &setting);

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
  /// Without one the request as it is. A line matches if device, kernel, build, setting and all parameters
  /// that are no sizes are equal, and each size is in its range and a multiple of the powers of two up to 16
  /// of which the measured one is. Lines whose values the kernel refuses here are ignored.
  Tuned apply(const Request &request, const TuningSetting &setting) const;

private:
  std::filesystem::path folder;
  std::vector<TuningLine> lines;
  size_t ofOtherVersions = 0;
};

} // namespace tlc::kernels
