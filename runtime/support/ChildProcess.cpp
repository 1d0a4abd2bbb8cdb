// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forks, pipes and their ends.
#include "runtime/support/ChildProcess.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace tlc;

std::optional<int> ProcessEnd::exitStatus() const {
  return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

std::string ProcessEnd::text() const {
  if (std::optional<int> code = exitStatus())
    return fmt::format("exit status {}", *code);
  return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

std::optional<ChildProcess> ChildProcess::start(const std::function<int(int pipe)> &body) {
  int ends[2];
  if (::pipe(ends) != 0)
    return std::nullopt;
  std::fflush(nullptr); // or both would print what is buffered
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int status = body(ends[1]);
    std::fflush(nullptr);
    ::_exit(status);
  }
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    return std::nullopt;
  }
  return ChildProcess(process, ends[0]);
}

ChildProcess::ChildProcess(ChildProcess &&other) noexcept
    : process(std::exchange(other.process, -1)), readEnd(std::exchange(other.readEnd, -1)) {}

ChildProcess::~ChildProcess() {
  if (process >= 0) {
    kill();
    wait();
  }
  if (readEnd >= 0)
    ::close(readEnd);
}

void ChildProcess::kill() const { ::kill(process, SIGKILL); }

ProcessEnd ChildProcess::wait() {
  ProcessEnd end;
  while (::waitpid(process, &end.status, 0) < 0 && errno == EINTR)
    ;
  process = -1;
  return end;
}

std::optional<ProcessEnd> ChildProcess::waitUntil(std::chrono::steady_clock::time_point end) {
  for (;;) {
    siginfo_t ended = {};
    ::waitid(P_PID, id_t(process), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == process)
      return wait();
    if (std::chrono::steady_clock::now() >= end)
      return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void tlc::writeToPipe(int pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(pipe, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      ::_exit(3);
    bytes.remove_prefix(size_t(written));
  }
}

Result<ChildReport> tlc::reportOfChild(std::chrono::seconds limit, const std::function<void(int)> &body) {
  using Clock = std::chrono::steady_clock;
  std::optional<ChildProcess> child = ChildProcess::start([&](int pipe) {
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGTERM, SIGINT, SIGPIPE})
      std::signal(number, SIG_DFL);
    body(pipe);
    return 0;
  });
  if (!child)
    return Error{ErrorKind::environment, fmt::format("cannot start a process: {}", std::strerror(errno))};
  ChildReport report;
  const auto late = [&] {
    report.trouble = fmt::format("has not ended after {} s", limit.count());
    report.isTimeout = true;
    return report;
  };
  const Clock::time_point end = Clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting = {.fd = child->pipe(), .events = POLLIN, .revents = 0};
    const int ready = left.count() > 0 ? ::poll(&waiting, 1, int(left.count()) + 1) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return late();
    char bytes[1 << 16];
    const ssize_t count = ::read(child->pipe(), bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    report.text.append(bytes, size_t(count));
  }
  // Its end of the pipe may be closed, and it goes on.
  const std::optional<ProcessEnd> ended = child->waitUntil(end);
  if (!ended)
    return late();
  if (ended->exitStatus() != 0)
    report.trouble = "ended by " + ended->text();
  return report;
}

Result<std::string> tlc::answerOfChild(std::chrono::seconds limit, const std::function<std::string()> &body) {
  constexpr char whole = '.'; // the last byte of an answer: a process may end in the middle of one
  Result<ChildReport> report = reportOfChild(limit, [&](int pipe) { writeToPipe(pipe, body() + whole); });
  if (!report)
    return report.error();
  if (report->trouble.empty() && !report->text.ends_with(whole))
    report->trouble = "ended by exit status 0";
  if (!report->trouble.empty())
    return Error{ErrorKind::execution, report->trouble};
  report->text.pop_back();
  return std::move(report->text);
}
