// SPDX-License-Identifier: Apache-2.0
/// \file
/// A part of this program that runs in a process of its own and is watched, so that a crash, an exit or an
/// endless loop in it is a result like others.
#pragma once

#include "runtime/support/Result.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>

namespace tlc {

/// How a process ended.
struct ProcessEnd {
  int status = 0; ///< of waitpid

  /// Nothing if a signal ended it.
  std::optional<int> exitStatus() const;
  /// "signal 11 (Segmentation fault)", "exit status 3".
  std::string text() const;
};

/// A fork of this process. Destroying it kills the process if it has not been waited for.
class ChildProcess {
public:
  /// Calls `body` in a new process, which ends with the status that it returns. What it writes to `pipe` is
  /// read here. Nothing of this process runs in it at the end: no destructors of statics, no flushing but of
  /// C streams. Nothing if the system has no room for a process.
  static std::optional<ChildProcess> start(const std::function<int(int pipe)> &body);
  ChildProcess(ChildProcess &&other) noexcept;
  ChildProcess &operator=(ChildProcess &&) = delete;
  ~ChildProcess();

  pid_t id() const { return process; }
  /// The end to read from.
  int pipe() const { return readEnd; }
  void kill() const;
  /// Waits for its end.
  ProcessEnd wait();
  /// The same, but nothing if it has not ended by then.
  std::optional<ProcessEnd> waitUntil(std::chrono::steady_clock::time_point end);

private:
  ChildProcess(pid_t process, int readEnd) : process(process), readEnd(readEnd) {}
  pid_t process = -1; ///< -1: waited for
  int readEnd = -1;
};

/// In a child: writes all of it, or ends the process where nobody reads any more.
void writeToPipe(int pipe, std::string_view bytes);

/// What `body` returns, from a process of its own; the same text whatever else the process prints. It has no
/// core dump and no handlers of signals. An error of kind `execution` says how it ended instead of answering:
/// "ended by signal 11 (Segmentation fault)", "ended by exit status 3", "has not ended after 60 s".
Result<std::string> answerOfChild(std::chrono::seconds limit, const std::function<std::string()> &body);

} // namespace tlc
