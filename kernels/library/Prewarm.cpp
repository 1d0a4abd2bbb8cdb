// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lists of programs.
#include "kernels/library/Prewarm.h"

#include "runtime/support/Excerpt.h"
#include "runtime/support/WaitLimit.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <sstream>
#include <thread>

using namespace tlc;
using namespace tlc::kernels;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> names;
  std::istringstream stream{std::string(text)};
  for (std::string name; std::getline(stream, name, ',');)
    names.push_back(std::move(name));
  return names;
}

/// A line on its way to a program.
struct Line {
  std::string kernel;
  Definitions definitions = {};
  std::vector<std::string> fixedDimensions = {};
  CompileOptions options = {};

  Result<void> add(const std::string &word) {
    const size_t sign = word.find('=');
    const std::string name = word.substr(0, sign), value = sign == word.npos ? "" : word.substr(sign + 1);
    if (word.starts_with("--"))
      return addOption(name, value);
    if (sign == word.npos || sign == 0)
      return invalid(formatMessage("expected name=value, but got '{}'", word));
    if (!definitions.try_emplace(name, value).second)
      return invalid(formatMessage("expected each parameter once, but '{}' is given twice", name));
    return {};
  }

private:
  Result<void> addOption(const std::string &name, const std::string &value) {
    if (name == "--target") {
      if (!findTarget(value))
        return invalid(
            formatMessage("expected --target to be one of {}, but got '{}'", targetNames(), value));
      options.target = value;
    } else if (name == "--static") {
      fixedDimensions = split(value);
    } else if (name == "--disable") {
      for (const std::string &each : split(value))
        if (Result<void> done = disable(each); !done)
          return done;
    } else if (name == "--bounded-waits") {
      double seconds = 0;
      std::from_chars(value.data(), value.data() + value.size(), seconds);
      Result<std::chrono::nanoseconds> limit = waitLimitOf(seconds, name);
      if (!limit)
        return limit.error();
      options.waitLimit = *limit;
    } else if (name == "--multicast") {
      options.multicast = true;
    } else {
      return invalid(formatMessage("expected --target, --static, --disable, --bounded-waits or --multicast, "
                                   "but got '{}'",
                                   name));
    }
    return {};
  }

  Result<void> disable(const std::string &name) {
    const auto switches = optimizationSwitches();
    const auto found = std::ranges::find(switches, name, &OptimizationSwitch::name);
    if (found == switches.end()) {
      std::vector<std::string_view> names;
      for (const OptimizationSwitch &each : switches)
        names.push_back(each.name);
      return invalid(formatMessage("expected --disable to be one of {}, but got '{}'",
                                   fmt::format("{}", fmt::join(names, ", ")), name));
    }
    options.optimizations.*found->member = false;
    return {};
  }
};

Result<ListedProgram> parseLine(std::istringstream &words, Line line, const FindKernel &find) {
  for (std::string word; words >> word;)
    if (Result<void> added = line.add(word); !added)
      return added.error();
  Result<const Kernel *> kernel = find(line.kernel);
  if (!kernel)
    return kernel.error();
  Result<Request> request = Request::parse(**kernel, line.definitions, line.fixedDimensions);
  if (!request)
    return request.error();
  return ListedProgram{std::move(*request), std::move(line.options), std::move(line.definitions)};
}

} // namespace

std::string kernels::lineOf(const Request &request, const CompileOptions &options) {
  const std::string file = request.kernel->file();
  std::string line = (file.empty() ? "" : file + ":") + std::string(request.kernel->name());
  for (const Parameter &parameter : request.kernel->parameters())
    if (const std::string_view value = *request.values.find(parameter.name);
        value != parameter.fallback && !parameter.isScalar())
      line += fmt::format(" {}={}", parameter.name, value);
  line += " --target=" + options.target;
  if (!request.fixedDimensions.empty())
    line += fmt::format(" --static={}", fmt::join(request.fixedDimensions, ","));
  std::vector<std::string_view> disabled;
  for (const OptimizationSwitch &each : optimizationSwitches())
    if (!(options.optimizations.*each.member))
      disabled.push_back(each.name);
  if (!disabled.empty())
    line += fmt::format(" --disable={}", fmt::join(disabled, ","));
  line += flagOfWaitLimit(options.waitLimit);
  if (options.multicast)
    line += " --multicast";
  return line;
}

Result<std::vector<ListedProgram>> kernels::parseList(std::string_view text, const FindKernel &find,
                                                      std::string_view target) {
  std::vector<ListedProgram> programs;
  std::istringstream lines{std::string(text)};
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    Line next;
    next.options.target = target;
    if (!(words >> next.kernel))
      continue;
    Result<ListedProgram> program = parseLine(words, std::move(next), find);
    if (!program)
      return Error{program.error().kind, fmt::format("line {}: {}", number, program.error().message)};
    programs.push_back(std::move(*program));
  }
  return programs;
}

size_t kernels::prewarm(Library &library, std::span<const ListedProgram> programs, unsigned threads,
                        const std::function<void(const PrewarmStep &)> &onStep) {
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  // A file's kernel is traced in a child process, which would wait for ever for a lock that another thread
  // holds while it is forked. So one thread compiles these programs, before there are others.
  const auto isOfFile = [](const ListedProgram &program) { return !program.request.kernel->file().empty(); };
  std::vector<const ListedProgram *> order;
  for (const ListedProgram &program : programs)
    if (isOfFile(program))
      order.push_back(&program);
  const size_t alone = order.size();
  for (const ListedProgram &program : programs)
    if (!isOfFile(program))
      order.push_back(&program);
  std::atomic<size_t> next = 0;
  size_t done = 0, failed = 0;
  std::mutex mutex;
  const auto work = [&](size_t end) {
    for (size_t i; (i = next++) < end;) {
      const ListedProgram &program = *order[i];
      CompileLog log;
      const auto begin = std::chrono::steady_clock::now();
      const auto artifact =
          library.compile(program.request, program.options, log, ProgramCode::cubin, &program.given);
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
      std::lock_guard lock(mutex);
      failed += !artifact;
      onStep({program, ++done, programs.size(), artifact ? Result<void>() : artifact.error(),
              !log.foundAfter.has_value(), time.count()});
    }
  };
  work(alone);
  next = alone;
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(threads, programs.size() - alone); ++i)
    others.emplace_back(work, programs.size());
  work(programs.size());
  for (std::thread &thread : others)
    thread.join();
  return failed;
}
