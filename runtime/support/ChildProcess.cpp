// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forks, pipes and their ends.
#include "runtime/support/ChildProcess.h"

#include "runtime/support/Hash.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <iterator>
#include <poll.h>
#include <span>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
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

namespace {

/// Both ends of a pipe or of a connection, closed with the object.
struct Ends {
  int own = -1, others = -1;

  Ends() = default;
  Ends(const Ends &) = delete;
  ~Ends() {
    closeOwn();
    closeOthers();
  }
  void closeOwn() { closeOne(own); }
  void closeOthers() { closeOne(others); }
  int takeOwn() { return std::exchange(own, -1); }

private:
  static void closeOne(int &end) {
    if (end >= 0)
      ::close(std::exchange(end, -1));
  }
};

/// Ends as `status` of waitpid says another process did.
[[noreturn]] void endLike(int status) {
  if (WIFEXITED(status))
    ::_exit(WEXITSTATUS(status));
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const int number = WTERMSIG(status);
  std::signal(number, SIG_DFL);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, number);
  ::kill(::getpid(), number);
  ::sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
  ::_exit(128 + number);
}

/// Waits until `child` ends, or until the other end of `request` closes: then kills the child. Kills what it
/// left in its group, and ends as it did. All signals are blocked, and `signals` is readable after SIGCHLD.
[[noreturn]] void watch(pid_t child, int request, int signals, const std::function<void()> &onKill) {
  bool isWanted = true;
  for (;;) {
    siginfo_t ended = {};
    ::waitid(P_PID, id_t(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == child)
      break;
    pollfd waiting[] = {{.fd = isWanted ? request : -1, .events = POLLIN, .revents = 0},
                        {.fd = signals, .events = POLLIN, .revents = 0}};
    ::poll(waiting, std::size(waiting), -1);
    if (waiting[0].revents != 0) {
      isWanted = false;
      ::kill(-child, SIGKILL);
      ::kill(child, SIGKILL); // perhaps it leads no group yet
    }
    signalfd_siginfo signal;
    if (waiting[1].revents != 0)
      (void)!::read(signals, &signal, sizeof(signal));
  }
  ::kill(-child, SIGKILL); // its number is taken until it is waited for
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!isWanted && onKill)
    onKill();
  endLike(status);
}

} // namespace

std::optional<ChildProcess> ChildProcess::start(const std::function<int(int pipe)> &body,
                                                const std::function<void()> &onKill) {
  Ends answers, requests;
  int pipe[2], connection[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    return std::nullopt;
  answers.own = pipe[0], answers.others = pipe[1];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection) != 0)
    return std::nullopt;
  requests.own = connection[0], requests.others = connection[1];
  std::fflush(nullptr); // or both would print what is buffered
  const pid_t watcher = ::fork();
  if (watcher < 0)
    return std::nullopt;
  if (watcher == 0) {
    answers.closeOwn();
    requests.closeOwn();
    ::setsid(); // a terminal's signals are for the process that started this one
    sigset_t all, before, ended;
    sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, &before);
    std::signal(SIGCHLD, SIG_DFL); // or nothing is left to wait for
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    const int signals = ::signalfd(-1, &ended, SFD_CLOEXEC);
    const pid_t self = ::getpid(), child = signals < 0 ? -1 : ::fork();
    if (child < 0)
      ::_exit(127);
    if (child == 0) {
      ::setsid();
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != self)
        ::_exit(127);
      requests.closeOthers();
      ::close(signals);
      ::sigprocmask(SIG_SETMASK, &before, nullptr);
      const int status = body(answers.others);
      std::fflush(nullptr);
      ::_exit(status);
    }
    answers.closeOthers();
    (void)!::send(requests.others, &child, sizeof(child), MSG_NOSIGNAL);
    watch(child, requests.others, signals, onKill);
  }
  answers.closeOthers();
  requests.closeOthers();
  pid_t child = -1;
  ssize_t got = 0;
  while ((got = ::read(requests.own, &child, sizeof(child))) < 0 && errno == EINTR)
    ;
  ChildProcess started(watcher, requests.takeOwn(), child, answers.takeOwn());
  if (got != sizeof(child))
    return std::nullopt;
  return started;
}

ChildProcess::ChildProcess(ChildProcess &&other) noexcept
    : watcher(std::exchange(other.watcher, -1)), request(std::exchange(other.request, -1)),
      process(other.process), readEnd(std::exchange(other.readEnd, -1)) {}

ChildProcess::~ChildProcess() {
  if (watcher >= 0) {
    kill();
    wait();
  }
  for (int end : {request, readEnd})
    if (end >= 0)
      ::close(end);
}

void ChildProcess::kill() const { ::shutdown(request, SHUT_RDWR); }

ProcessEnd ChildProcess::wait() {
  ProcessEnd end{.status = 127 << 8}; // where the caller of this process takes its children away
  while (::waitpid(watcher, &end.status, 0) < 0 && errno == EINTR)
    ;
  watcher = -1;
  return end;
}

bool ChildProcess::hasEnded() const {
  siginfo_t ended = {};
  return ::waitid(P_PID, id_t(watcher), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == watcher;
}

std::optional<ProcessEnd> ChildProcess::waitUntil(std::chrono::steady_clock::time_point end) {
  while (!hasEnded()) {
    if (std::chrono::steady_clock::now() >= end)
      return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return wait();
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

namespace {

/// Nothing of this process but its memory decides what the child does.
void prepareChild() {
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  for (int number = 1; number <= SIGRTMAX; ++number)
    std::signal(number, SIG_DFL);
  sigset_t nothing;
  sigemptyset(&nothing);
  ::sigprocmask(SIG_SETMASK, &nothing, nullptr);
  if (const int empty = ::open("/dev/null", O_RDONLY | O_CLOEXEC); empty >= 0)
    ::dup2(empty, STDIN_FILENO);
}

/// In front of an answer.
struct AnswerHeader {
  uint64_t mark = 0x7265'7773'6e61'6c74; ///< other bytes are another program's
  uint64_t bytes = 0;
  Hash128 hash = {};

  explicit AnswerHeader(std::string_view answer) : bytes(answer.size()) {
    hash.update(std::as_bytes(std::span(answer)));
  }
};

} // namespace

Result<ChildReport> tlc::reportOfChild(std::chrono::seconds limit, const std::function<void(int)> &body,
                                       const std::function<void()> &onKill, size_t most) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::milliseconds;
  std::optional<ChildProcess> child = ChildProcess::start(
      [&](int pipe) {
        prepareChild();
        body(pipe);
        return 0;
      },
      onKill);
  if (!child)
    return Error{ErrorKind::environment, fmt::format("cannot start a process: {}", std::strerror(errno))};
  ChildReport report;
  const auto late = [&] {
    report.trouble = fmt::format("has not ended after {} s", limit.count());
    report.isTimeout = true;
    return report;
  };
  const Clock::time_point end = Clock::now() + limit;
  for (bool hasEnded = false;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (left.count() <= 0)
      return late();
    pollfd waiting = {.fd = child->pipe(), .events = POLLIN, .revents = 0};
    constexpr milliseconds look(20); // others may hold the pipe open after the process has ended
    const int ready = ::poll(&waiting, 1, hasEnded ? 0 : int(std::min(left, look).count()));
    if (ready <= 0) {
      if (hasEnded)
        break;
      hasEnded = child->hasEnded();
      continue;
    }
    char bytes[1 << 16];
    const ssize_t count = ::read(child->pipe(), bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    report.text.append(bytes, size_t(count));
    if (report.text.size() > most) {
      report.text.clear();
      report.trouble = fmt::format("has answered more than {} bytes", most);
      return report;
    }
  }
  // Its end of the pipe may be closed while it runs.
  const std::optional<ProcessEnd> ended = child->waitUntil(end);
  if (!ended)
    return late();
  if (ended->exitStatus() != 0)
    report.trouble = "ended by " + ended->text();
  return report;
}

Result<std::string> tlc::answerOfChild(std::chrono::seconds limit, const std::function<std::string()> &body,
                                       size_t most) {
  Result<ChildReport> report = reportOfChild(
      limit,
      [&](int pipe) {
        const std::string answer = body();
        const AnswerHeader header(answer);
        writeToPipe(pipe, {reinterpret_cast<const char *>(&header), sizeof(header)});
        writeToPipe(pipe, answer);
      },
      {}, most + sizeof(AnswerHeader));
  if (!report)
    return report.error();
  std::string &text = report->text;
  if (report->trouble.empty() && text.empty())
    report->trouble = "ended by exit status 0";
  if (!report->trouble.empty())
    return Error{ErrorKind::execution, report->trouble};
  const std::string answer = text.size() < sizeof(AnswerHeader) ? "" : text.substr(sizeof(AnswerHeader));
  const AnswerHeader expected(answer);
  if (text.size() < sizeof(expected) || std::memcmp(text.data(), &expected, sizeof(expected)) != 0)
    return Error{
        ErrorKind::execution,
        fmt::format("has written {} bytes to a file descriptor that it has not opened, through which "
                    "tlc waits for an answer; write to files that the code opens, or to standard error",
                    text.size())};
  return answer;
}
