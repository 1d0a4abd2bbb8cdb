// SPDX-License-Identifier: Apache-2.0
/// \file
/// The files of one kernel in a folder of tuning: `<kernel>.jsonl` has the results, which are shipped, and
/// `<kernel>.log` every measurement, from which an interrupted tuning is resumed.
#pragma once

#include "kernels/tuning/TuningLine.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tlc::driver {

/// While it lives, no other process tunes the kernel into the folder.
class TuningLock {
public:
  /// Creates the folder and the log. An error names the log, and who holds it.
  static Result<TuningLock> take(const std::string &folder, std::string_view kernel);
  TuningLock(TuningLock &&other) noexcept : file(std::exchange(other.file, -1)) {}
  ~TuningLock();

private:
  explicit TuningLock(int file) : file(file) {}

  int file;
};

class TuningFiles {
public:
  /// Creates the folder, and reads the log. An error if the folder or a file in it cannot be read or written,
  /// or has a malformed line, with the place. A last line of the log that was cut short is removed.
  static Result<TuningFiles> open(const std::string &folder, std::string_view kernel);

  const std::vector<kernels::TuningLine> &measured() const { return lines; }
  Result<void> addMeasurement(const kernels::TuningLine &line) const { return append(log, line); }
  /// Adds nothing where the last line of the problem is the same.
  Result<void> addResult(const kernels::TuningLine &line) const;

  const std::string &logName() const { return log; }
  const std::string &resultName() const { return results; }
  /// Set if a line of the log was removed, or some are of another version.
  const std::optional<std::string> &remark() const { return itsRemark; }

private:
  static Result<void> append(const std::string &file, const kernels::TuningLine &line);

  std::string log, results;
  std::vector<kernels::TuningLine> lines;
  std::optional<std::string> itsRemark;
};

} // namespace tlc::driver
