// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs run on a GPU in a process that is watched: one that faults or never
/// ends costs only itself.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace tlc::conformance {

/// What a watched process tells the one that watches it.
class Progress {
public:
  explicit Progress(int pipe) : pipe(pipe) {}
  /// From here on the process is at this program.
  void begin(const std::string &program) const;

private:
  int pipe;
};

/// What `work` returns after a program has failed: a new process continues after it.
inline constexpr int programFailed = 3;

/// Calls `work` in a new process, and again for as long as one ended in a program: by `programFailed`, by a
/// signal or because it was at one program for longer than `limit`. `work` leaves out what was begun before.
/// The status of the last process, but 2 if a program failed.
int runWatched(std::chrono::seconds limit, const std::function<int(const Progress &)> &work);

} // namespace tlc::conformance
