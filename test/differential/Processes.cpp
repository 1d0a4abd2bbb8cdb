// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forks, and reads what the processes report through pipes.
#include "test/differential/Processes.h"

#include "runtime/support/ChildProcess.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using namespace tlc;
using namespace tlc::differential;

namespace {

using Clock = std::chrono::steady_clock;

/// A process lives for so many programs: what leaks in one does not add up.
constexpr uint64_t programsPerProcess = 500;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// CPU time of a process so far.
double processSeconds(pid_t process) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// One process and the programs that are left to it: `next`, `next` + step, ...
struct Worker {
  std::optional<ChildProcess> process = {};
  uint64_t next = 0;
  bool isBusy = false; ///< with `next`
  Clock::time_point begun = {};
  double cpuBefore = 0; ///< its CPU time when it began with `next`
  std::string received = {};
  std::FILE *errors = nullptr; ///< what the process writes to stderr
};

std::string joined(const std::set<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += name + '\n';
  return text;
}

std::set<std::string> split(std::string_view text) {
  std::set<std::string> names;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    names.emplace(text.substr(0, end));
  return names;
}

/// A record is its length in 8 bytes and its fields, each ended by 0.
void send(int file, const Outcome &outcome) {
  std::string record;
  for (const std::string &field :
       {std::string(nameOf(outcome.verdict)), fmt::to_string(outcome.isExact), joined(outcome.operations),
        joined(outcome.remarks), joined(outcome.forms), outcome.message})
    (record += field) += '\0';
  uint64_t length = record.size();
  std::string header(sizeof(length), '\0');
  std::memcpy(header.data(), &length, sizeof(length));
  writeToPipe(file, header + record);
}

Outcome parse(std::string_view record) {
  auto field = [&] {
    size_t end = record.find('\0');
    std::string_view text = record.substr(0, end);
    record.remove_prefix(std::min(record.size(), end + 1));
    return text;
  };
  Outcome outcome;
  outcome.verdict = parseVerdict(field()).value_or(Verdict::crash);
  outcome.isExact = field() == "true";
  outcome.operations = split(field());
  outcome.remarks = split(field());
  outcome.forms = split(field());
  outcome.message = field();
  return outcome;
}

class Pool {
public:
  Pool(uint64_t end, const ProcessOptions &options, const Work &work, const Report &report)
      : end(end), options(options), work(work), report(report) {}

  uint64_t run(uint64_t first) {
    step = uint64_t(std::max(options.jobs, 1));
    workers.resize(step);
    for (uint64_t number = 0; number < step; ++number) {
      workers[number].next = first + number;
      start(workers[number]);
    }
    while (wait())
      ;
    return done;
  }

private:
  void start(Worker &worker) {
    worker.isBusy = false;
    worker.received.clear();
    if (worker.next >= end || secondsSince(begun) > options.totalSeconds)
      return;
    worker.errors = std::tmpfile();
    worker.process.reset();
    std::optional<ChildProcess> process = ChildProcess::start([&](int pipe) {
      struct rlimit none = {0, 0};
      setrlimit(RLIMIT_CORE, &none);
      if (options.memoryBytes) {
        struct rlimit limit = {*options.memoryBytes, *options.memoryBytes};
        setrlimit(RLIMIT_DATA, &limit);
      }
      if (worker.errors)
        dup2(fileno(worker.errors), STDERR_FILENO);
      for (uint64_t left = programsPerProcess; worker.next < end && left > 0; worker.next += step, --left) {
        Outcome outcome = work(worker.next);
        send(pipe, outcome);
        if (outcome.verdict == Verdict::finding) // after which a GPU does nothing more in this process
          break;
      }
      return 0;
    });
    if (!process)
      return;
    worker.process.emplace(std::move(*process));
    worker.isBusy = true;
    worker.begun = Clock::now();
    worker.cpuBefore = 0;
  }

  /// Waits for something to happen; false if nothing is left.
  bool wait() {
    std::vector<pollfd> files;
    std::vector<Worker *> busy;
    for (Worker &worker : workers)
      if (worker.isBusy) {
        files.push_back({worker.process->pipe(), POLLIN, 0});
        busy.push_back(&worker);
      }
    if (busy.empty())
      return false;
    poll(files.data(), files.size(), 500);
    for (size_t i = 0; i < busy.size(); ++i)
      if (files[i].revents != 0)
        receive(*busy[i]);
      else if (hangs(*busy[i]))
        stop(*busy[i], Verdict::hang, fmt::format("no end after {} s", options.hangSeconds));
    return true;
  }

  /// Not by time alone: on a busy machine a program may wait long for its turn.
  bool hangs(const Worker &worker) const {
    const double seconds = secondsSince(worker.begun);
    return seconds > options.hangSeconds &&
           (processSeconds(worker.process->id()) - worker.cpuBefore > options.hangSeconds ||
            seconds > 10 * options.hangSeconds);
  }

  void receive(Worker &worker) {
    char bytes[1 << 16];
    ssize_t count = read(worker.process->pipe(), bytes, sizeof(bytes));
    if (count <= 0)
      return ended(worker);
    worker.received.append(bytes, size_t(count));
    uint64_t length = 0;
    while (worker.received.size() >= sizeof(length)) {
      std::memcpy(&length, worker.received.data(), sizeof(length));
      if (worker.received.size() < sizeof(length) + length)
        return;
      Outcome outcome = parse(std::string_view(worker.received).substr(sizeof(length), length));
      worker.received.erase(0, sizeof(length) + length);
      finish(worker, outcome);
      if (secondsSince(begun) > options.totalSeconds)
        return quit(worker);
    }
  }

  void finish(Worker &worker, const Outcome &outcome) {
    ++done;
    report(worker.next, outcome, secondsSince(worker.begun));
    worker.next += step;
    worker.begun = Clock::now();
    worker.cpuBefore = processSeconds(worker.process->id());
  }

  ProcessEnd reap(Worker &worker) {
    const ProcessEnd how = worker.process->wait();
    worker.isBusy = false;
    errorText = worker.errors ? readAll(worker.errors) : "";
    return how;
  }

  /// The first lines of what a process wrote.
  static std::string readAll(std::FILE *file) {
    std::string text(2000, '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
  }

  /// The process has ended: with all it had to do, or in the middle of a program.
  void ended(Worker &worker) {
    const ProcessEnd how = reap(worker);
    if (how.exitStatus() == 0)
      return start(worker);
    finish(worker, {.verdict = Verdict::crash, .message = how.text() + "\n" + errorText});
    start(worker);
  }

  void stop(Worker &worker, Verdict verdict, std::string message) {
    worker.process->kill();
    reap(worker);
    finish(worker, {.verdict = verdict, .message = std::move(message)});
    start(worker);
  }

  void quit(Worker &worker) {
    worker.process->kill();
    reap(worker);
  }

  uint64_t end, step = 1, done = 0;
  const ProcessOptions &options;
  const Work &work;
  const Report &report;
  Clock::time_point begun = Clock::now();
  std::vector<Worker> workers;
  std::string errorText; ///< of the process that ended last
};

} // namespace

uint64_t differential::runInProcesses(uint64_t first, uint64_t count, const ProcessOptions &options,
                                      const Work &work, const Report &report) {
  return Pool(first + count, options, work, report).run(first);
}
