// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiles, runs and compares.
#include "tools/mutate/KernelTrial.h"

#include "kernels/harness/KernelRun.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/emulator/report/Finding.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

using namespace tlc;
using namespace tlc::mutate;
using kernels::Definitions;
using kernels::KernelRun;
using kernels::Request;

namespace {

/// Small problems end soon, but a block that waits for another one polls, in some schedules millions of
/// times; what goes on for longer never ends.
constexpr uint64_t maximumSteps = 1 << 25;
/// Few, so that blocks have several tiles.
constexpr int multiprocessors = 2;

Result<Definitions> parseDefinitions(const std::string &text) {
  Definitions definitions;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t sign = word.find('=');
    if (sign == std::string::npos || sign == 0)
      return Error{ErrorKind::invalidArgument, formatMessage("expected name=value, but got '{}'", word)};
    definitions[word.substr(0, sign)] = word.substr(sign + 1);
  }
  return definitions;
}

/// "tma,wgmma"
Result<void> disable(Optimizations &optimizations, const std::string &names) {
  std::istringstream stream(names);
  for (std::string name; std::getline(stream, name, ',');) {
    const auto switches = optimizationSwitches();
    const auto found =
        std::ranges::find_if(switches, [&](const OptimizationSwitch &each) { return each.name == name; });
    if (found == switches.end())
      return Error{ErrorKind::invalidArgument, formatMessage("'{}' is not an optimisation", name)};
    optimizations.*found->member = false;
  }
  return {};
}

} // namespace

Origin Case::origin() const {
  Origin origin{kernel, {}};
  for (const auto &[name, value] : parameters)
    origin.words.push_back(name + "=" + value);
  for (const OptimizationSwitch &each : optimizationSwitches())
    if (!(optimizations.*each.member))
      origin.words.push_back("disable=" + std::string(each.name));
  if (target != CompileOptions().target)
    origin.words.push_back("target=" + target);
  return origin;
}

Result<Request> Case::problem(const Definitions &at) const {
  Definitions all = at; // lengths of sequences overrule those that only say that there are some
  all.insert(parameters.begin(), parameters.end());
  return ofFile ? Request::parseLaunch(*ofFile, all, {}, defaults)
                : Request::parse(kernel, all, {}, defaults);
}

Result<std::vector<Case>> mutate::parseCases(std::string_view text, const std::string &target) {
  std::vector<Case> cases;
  std::istringstream lines{std::string(text)};
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.ends_with(':'))
      line += ' '; // so that missing sizes after it are seen
    std::istringstream parts(line);
    std::string part;
    Case next;
    next.target = target;
    for (bool first = true; std::getline(parts, part, ':'); first = false) {
      if (first) {
        std::istringstream words(part);
        part.clear(); // what getline leaves as it is where nothing follows
        if (!(words >> next.kernel))
          break;
        std::getline(words, part);
      }
      Result<Definitions> definitions = parseDefinitions(part);
      if (!definitions)
        return Error{ErrorKind::invalidArgument,
                     fmt::format("line {}: {}", number, definitions.error().message)};
      if (first) {
        if (auto disabled = definitions->find("disable"); disabled != definitions->end()) {
          if (Result<void> done = disable(next.optimizations, disabled->second); !done)
            return Error{ErrorKind::invalidArgument,
                         fmt::format("line {}: {}", number, done.error().message)};
          definitions->erase(disabled);
        }
        if (auto other = definitions->find("target"); other != definitions->end()) {
          if (!findTarget(other->second))
            return Error{
                ErrorKind::invalidArgument,
                fmt::format("line {}: {}", number, formatMessage("'{}' is not a target", other->second))};
          next.target = other->second;
          definitions->erase(other);
        }
        next.parameters = std::move(*definitions);
      } else if (definitions->empty()) {
        return Error{ErrorKind::invalidArgument,
                     fmt::format("line {}: expected sizes after each colon, but got none", number)};
      } else {
        next.sizes.push_back(std::move(*definitions));
      }
    }
    if (next.kernel.empty())
      continue;
    for (const Definitions &sizes : next.sizes)
      if (Result<Request> request = next.problem(sizes); !request)
        return Error{ErrorKind::invalidArgument, fmt::format("line {}: {}", number, request.error().message)};
    if (next.sizes.empty())
      return Error{ErrorKind::invalidArgument, fmt::format("line {}: expected sizes after a colon", number)};
    cases.push_back(std::move(next));
  }
  if (cases.empty())
    return Error{ErrorKind::invalidArgument,
                 "expected lines 'kernel name=value ... : size=value ...', but there are none"};
  return cases;
}

Result<std::vector<KernelTrial>> KernelTrial::create(kernels::Library &library, const Case &of,
                                                     const TrialOptions &options) {
  kernels::CompileLog log;
  CompileOptions compileOptions;
  compileOptions.target = of.target;
  compileOptions.optimizations = of.optimizations;
  compileOptions.waitLimit = options.waitLimit;
  compileOptions.multicast = options.multicast;
  Result<Request> first = of.problem(of.sizes.front());
  if (!first)
    return first.error();
  Result<std::shared_ptr<const Artifact>> compiled =
      library.compile(*first, compileOptions, log, ProgramCode::ptx);
  if (!compiled)
    return compiled.error();
  std::vector<Problem> problems;
  for (const Definitions &sizes : of.sizes) {
    Result<Request> request = of.problem(sizes);
    if (!request)
      return request.error();
    Result<Problem> problem = kernels::Problem::create(*request, {.seed = options.seed});
    if (!problem)
      return problem.error();
    problems.push_back(std::move(*problem));
  }
  std::vector<KernelTrial> trials;
  for (size_t variant = 0; variant != (*compiled)->variants.size(); ++variant) {
    KernelTrial trial;
    trial.from = of.origin();
    trial.from.words.push_back("variant=" + (*compiled)->variants[variant].name);
    trial.artifact = *compiled;
    trial.variant = variant;
    trial.target = findTarget(of.target);
    trial.options = options;
    for (const Problem &problem : problems) {
      Result<bool> suits = trial.suits(problem);
      if (!suits)
        return suits.error();
      if (*suits)
        trial.problems.push_back(problem);
    }
    if (!trial.problems.empty())
      trials.push_back(std::move(trial));
  }
  return trials;
}

Result<bool> KernelTrial::suits(const Problem &problem) const {
  if (alignment() == Alignment::general)
    return true;
  std::vector<std::unique_ptr<Device>> devices = createEmulatorDevices(
      unsigned(problem->ranks()), {.target = target, .multiprocessors = multiprocessors});
  Result<KernelRun> run = KernelRun::create(devices, problem, artifact);
  if (!run)
    return run.error();
  return run->variant() == artifact->variants[variant].name;
}

Outcome KernelTrial::run(const std::string &module, unsigned schedules) const {
  auto changed = std::make_shared<Artifact>(*artifact);
  changed->variants[variant].ptx = module;
  for (unsigned schedule = 0; schedule != schedules; ++schedule)
    for (const Problem &problem : problems)
      if (Outcome outcome = run(problem, changed, schedule); outcome.detection != Detection::none)
        return outcome;
  return {};
}

Outcome KernelTrial::run(const Problem &problem, const std::shared_ptr<const Artifact> &changed,
                         unsigned schedule) const {
  EmulatorOptions emulator;
  emulator.target = target;
  emulator.multiprocessors = multiprocessors;
  emulator.hostThreads = 1;
  emulator.maximumSteps = maximumSteps;
  emulator.raceCheck = RaceCheck::strict; // shipped kernels have fences that only the text of PTX asks for
  if (schedule != 0)
    emulator.scheduleSeed = schedule; // the same in every run: a mutant that only some find would come and go
  std::optional<FindingKind> found;
  emulator.onFindings = [&](const Findings &findings) { found = findings.all().front().kind; };
  std::vector<std::unique_ptr<Device>> devices = createEmulatorDevices(unsigned(problem->ranks()), emulator);
  Result<KernelRun> run = KernelRun::create(devices, problem, changed, alignment());
  if (!run)
    return {Detection::refused, run.error().message};
  Result<kernels::Verdict> verdict = run->verify();
  if (!verdict)
    return {found ? detectionOf(*found) : Detection::refused, verdict.error().message};
  return verdict->correct() ? Outcome{} : Outcome{Detection::wrongResult, verdict->complaint};
}
