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

/// A fork of this process, in a session of its own. Whatever it started and left in its process group ends
/// with it. It ends with this process, however that ends: a watcher, a process between the two, kills the
/// group. Destroying the object kills the process if it has not been waited for.
class ChildProcess {
public:
  /// Calls `body` in a new process, which ends with the status that it returns. What it writes to `pipe` is
  /// read here; programs that it executes do not inherit the pipe. Nothing of this process runs in it at the
  /// end: no destructors of statics, no flushing but of C streams. The watcher calls `onKill` after it killed
  /// the process. Nothing if the system has no room for a process.
  static std::optional<ChildProcess> start(const std::function<int(int pipe)> &body,
                                           const std::function<void()> &onKill = {});
  ChildProcess(ChildProcess &&other) noexcept;
  ChildProcess &operator=(ChildProcess &&) = delete;
  ~ChildProcess();

  pid_t id() const { return process; } ///< that runs `body`
  /// The end to read from.
  int pipe() const { return readEnd; }
  void kill() const;
  /// Waits for its end.
  ProcessEnd wait();
  bool hasEnded() const;
  /// The same, but nothing if it has not ended by then.
  std::optional<ProcessEnd> waitUntil(std::chrono::steady_clock::time_point end);

private:
  ChildProcess(pid_t watcher, int request, pid_t process, int readEnd)
      : watcher(watcher), request(request), process(process), readEnd(readEnd) {}
  pid_t watcher = -1; ///< ends as the process does; -1: waited for
  int request = -1;   ///< the watcher kills when this is shut down or closed
  pid_t process = -1;
  int readEnd = -1;
};

/// In a child: writes all of it, or ends the process where nobody reads any more.
void writeToPipe(int pipe, std::string_view bytes);

/// What a process has written to its pipe until its end.
struct ChildReport {
  std::string text = {};
  std::string trouble = {}; ///< empty after exit status 0; "ended by signal 11 (Segmentation fault)", "ended
                            ///< by exit status 3", "has not ended after 60 s"
  bool isTimeout = false;   ///< it was killed after the limit
};

/// The most bytes that such a process may write unless its caller knows better.
inline constexpr size_t mostAnswerBytes = size_t(1) << 30;

/// What `body` writes to `pipe`, from a process of its own, which has no core dump, no handlers of signals
/// and an empty standard input. An error of kind `environment` if there is no room for a process.
Result<ChildReport> reportOfChild(std::chrono::seconds limit, const std::function<void(int pipe)> &body,
                                  const std::function<void()> &onKill = {}, size_t most = mostAnswerBytes);

/// What `body` returns, from such a process; the same text whatever else the process prints. An error of kind
/// `execution` has the trouble instead of an answer. Bytes that other code writes to the pipe are an error.
Result<std::string> answerOfChild(std::chrono::seconds limit, const std::function<std::string()> &body,
                                  size_t most = mostAnswerBytes);

} // namespace tlc
