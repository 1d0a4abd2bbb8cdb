// SPDX-License-Identifier: Apache-2.0
/// \file
/// A line of a tuning file: one JSON object, which says how fast a kernel is with some values of its open
/// parameters, or why it was not timed. docs/tuning.md has the members.
#pragma once

#include "kernels/Parameter.h"
#include "runtime/support/Result.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::kernels {

/// Raised whenever the meaning of a line changes; lines of another version are ignored.
inline constexpr int64_t tuningVersion = 2;

/// Extents for which a measurement stands.
struct SizeRange {
  int64_t from = 0;
  int64_t at = 0; ///< that was measured
  int64_t to = 0;

  /// Up to a factor of sqrt(2) on both sides.
  static SizeRange around(int64_t size);
  bool contains(int64_t size) const { return from <= size && size <= to; }
  bool operator==(const SizeRange &) const = default;
};

struct TuningLine {
  std::string device;          ///< `DeviceProperties::name`
  int64_t multiprocessors = 0; ///< of the device
  std::string build;           ///< of the kernel (`buildOf`)
  std::string kernel;
  std::string target = {};          ///< that the programs are compiled for
  std::string options = {};         ///< a hash of the other options that decide a program
  std::string variant = {};         ///< that was asked for; empty: the one that the tensors allow
  std::string fixedDimensions = {}; ///< in order, with commas between them
  std::map<std::string, SizeRange> sizes = {};
  Definitions parameters = {}; ///< what was measured: all that are neither sizes nor tried
  Definitions values = {};     ///< of open parameters; none: what the kernel chooses itself
  double microseconds = 0;     ///< of a launch
  double modelled = 0;         ///< microseconds by the model of `tlc trace`; 0: not known
  std::string skipped = {};    ///< why it was not timed; empty: it was

  /// Whether the programs are compiled in the same way, for a device with as many multiprocessors.
  bool isSameSetting(const TuningLine &other) const;
  /// Equal for measurements of the same problem.
  bool isSameProblem(const TuningLine &other) const;
  bool operator==(const TuningLine &) const = default;
};

/// Without the end of the line.
std::string toJson(const TuningLine &line);

/// Nothing of a line of another version. An error, of which `place` is the beginning, of any other text.
Result<std::optional<TuningLine>> parseTuningLine(std::string_view text, std::string_view place);

struct TuningLines {
  std::vector<TuningLine> lines;
  size_t ofOtherVersions = 0;
};

/// The lines of a file's text; an error has the file, the line and, of what is no JSON, the column.
Result<TuningLines> parseTuningLines(std::string_view text, std::string_view file);

/// Of a file that exists.
Result<std::string> readTuningFile(const std::filesystem::path &path);

} // namespace tlc::kernels
