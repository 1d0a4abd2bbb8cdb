// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/Watched.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tlc::conformance {
namespace {

/// How one process ended.
struct End {
  std::string program; ///< the last it began; none: empty
  bool wasKilled = false;
  int status = 0; ///< of waitpid
};

std::optional<End> watchOne(std::chrono::seconds limit, const std::function<int(const Progress &)> &work) {
  int ends[2];
  if (pipe(ends) != 0)
    return std::nullopt;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0)
    return std::nullopt;
  if (child == 0) {
    close(ends[0]);
    const int status = work(Progress(ends[1]));
    std::fflush(nullptr);
    _exit(status);
  }
  close(ends[1]);
  End end;
  std::string said;
  for (;;) {
    pollfd waiting = {.fd = ends[0], .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, int(std::chrono::milliseconds(limit).count())) == 0) {
      end.wasKilled = true;
      kill(child, SIGKILL);
      break;
    }
    char text[256];
    const ssize_t count = read(ends[0], text, sizeof(text));
    if (count <= 0)
      break;
    said.append(text, size_t(count));
    if (const size_t last = said.rfind('\n'); last != std::string::npos) {
      const size_t before = last ? said.rfind('\n', last - 1) : std::string::npos;
      end.program = said.substr(before + 1, last - before - 1);
      said.erase(0, last + 1);
    }
  }
  close(ends[0]);
  waitpid(child, &end.status, 0);
  return end;
}

} // namespace

void Progress::begin(const std::string &program) const {
  const std::string line = program + "\n";
  if (write(pipe, line.data(), line.size()) != ssize_t(line.size()))
    std::abort(); // nobody watches any more
}

int runWatched(std::chrono::seconds limit, const std::function<int(const Progress &)> &work) {
  for (size_t failed = 0;; ++failed) {
    const std::optional<End> end = watchOne(limit, work);
    if (!end) {
      fmt::print(stderr, "error: cannot start a process\n");
      return 2;
    }
    const bool hasExited = WIFEXITED(end->status);
    if (hasExited && WEXITSTATUS(end->status) != programFailed) {
      if (failed)
        fmt::print("{} programs have failed\n", failed);
      return failed ? 2 : WEXITSTATUS(end->status);
    }
    if (end->wasKilled)
      fmt::print("{}: has not ended after {} s\n", end->program, limit.count());
    else if (!hasExited)
      fmt::print("{}: ended by signal {}\n", end->program, WTERMSIG(end->status));
    if (end->program.empty())
      return 2;
  }
}

} // namespace tlc::conformance
