// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/Watched.h"

#include "runtime/support/ChildProcess.h"

#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

namespace tlc::conformance {
namespace {

/// How one process ended.
struct End {
  std::string program; ///< the last it began; none: empty
  bool wasKilled = false;
  ProcessEnd process = {};
};

std::optional<End> watchOne(std::chrono::seconds limit, const std::function<int(const Progress &)> &work) {
  std::optional<ChildProcess> child = ChildProcess::start([&](int pipe) { return work(Progress(pipe)); });
  if (!child)
    return std::nullopt;
  End end;
  std::string said;
  for (;;) {
    pollfd waiting = {.fd = child->pipe(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, int(std::chrono::milliseconds(limit).count())) == 0) {
      end.wasKilled = true;
      child->kill();
      break;
    }
    char text[256];
    const ssize_t count = read(child->pipe(), text, sizeof(text));
    if (count <= 0)
      break;
    said.append(text, size_t(count));
    if (const size_t last = said.rfind('\n'); last != std::string::npos) {
      const size_t before = last ? said.rfind('\n', last - 1) : std::string::npos;
      end.program = said.substr(before + 1, last - before - 1);
      said.erase(0, last + 1);
    }
  }
  end.process = child->wait();
  return end;
}

} // namespace

void Progress::begin(const std::string &program) const { writeToPipe(pipe, program + "\n"); }

int runWatched(std::chrono::seconds limit, const std::function<int(const Progress &)> &work) {
  for (size_t failed = 0;; ++failed) {
    const std::optional<End> end = watchOne(limit, work);
    if (!end) {
      fmt::print(stderr, "error: cannot start a process\n");
      return 2;
    }
    const std::optional<int> status = end->process.exitStatus();
    if (status && *status != programFailed) {
      if (failed)
        fmt::print("{} programs have failed\n", failed);
      return failed ? 2 : *status;
    }
    if (end->wasKilled)
      fmt::print("{}: has not ended after {} s\n", end->program, limit.count());
    else if (!status)
      fmt::print("{}: ended by {}\n", end->program, end->process.text());
    if (end->program.empty())
      return 2;
  }
}

} // namespace tlc::conformance
