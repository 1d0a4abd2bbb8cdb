// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `tune`.
#include "tools/tlc/Tune.h"

#include "runtime/support/Excerpt.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>
#include <map>
#include <random>
#include <sstream>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

tlc::Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// "60s", "2m", "90"; nothing for "all". The inner result is empty where the text is none of these.
std::optional<std::optional<std::chrono::milliseconds>> parseBudget(StringRef text) {
  if (text == "all")
    return std::optional<std::chrono::milliseconds>();
  const double unit = text.consume_back("m") ? 60e3 : text.consume_back("h") ? 3600e3 : 1e3;
  if (unit == 1e3)
    text.consume_back("s");
  constexpr double most = 1e9; // milliseconds
  double number = 0;
  if (text.getAsDouble(number) || !(number > 0) || number * unit > most)
    return std::nullopt;
  return std::chrono::milliseconds(int64_t(number * unit));
}

/// The sizes and other values that tell problems apart.
kernels::Definitions problemValues(const kernels::Request &request) {
  kernels::Definitions values;
  for (const kernels::Parameter &parameter : request.kernel->parameters())
    if (const std::string_view value = *request.values.find(parameter.name);
        parameter.isDimension() || request.given.contains(parameter.name))
      values[parameter.name] = value;
  return values;
}

std::string textOf(const kernels::Definitions &values) {
  std::string text;
  for (const auto &[name, value] : values)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

/// Candidates that were skipped, by reason.
std::map<std::string, std::vector<const Candidate *>> skippedOf(const SearchResult &result) {
  std::map<std::string, std::vector<const Candidate *>> reasons;
  for (const Candidate &each : result.candidates)
    if (!each.skipped.empty())
      reasons[each.skipped].push_back(&each);
  return reasons;
}

size_t timedOf(const SearchResult &result) {
  return size_t(count_if(result.candidates, [](const Candidate &each) { return each.isTimed(); }));
}

void printText(const kernels::Request &request, const SearchResult &result) {
  const Candidate &own = result.candidates.front();
  outs() << request.kernel->name() << ' ' << textOf(problemValues(request)) << ": ";
  if (!result.best)
    outs() << "no candidate ran";
  else if (*result.best == 0)
    outs() << fmt::format("{:.2f} us by {}, which stays", own.time(), own.text());
  else
    outs() << fmt::format("{:.2f} us by {}", result.candidates[*result.best].time(),
                          result.candidates[*result.best].text());
  if (result.best && *result.best != 0 && own.isTimed())
    outs() << fmt::format(", {:.2f} us by {}", own.time(), own.text());
  outs() << fmt::format("; {} of {} candidates timed{}{}\n", timedOf(result), result.candidates.size(),
                        result.isComplete() ? "" : " within the budget",
                        result.resumed ? fmt::format(", {} by an earlier tuning", result.resumed) : "");
  constexpr size_t mostReasons = 20;
  size_t shown = 0;
  const auto reasons = skippedOf(result);
  for (const auto &[reason, candidates] : reasons) {
    if (shown++ == mostReasons) {
      outs() << fmt::format("  and {} more reasons, which the log has\n", reasons.size() - mostReasons);
      break;
    }
    outs() << "  skipped " << candidates.front()->text();
    if (candidates.size() > 1)
      outs() << fmt::format(" and {} more", candidates.size() - 1);
    const auto [first, more] = StringRef(reason).split('\n');
    outs() << ": " << first;
    if (!more.empty()) // what an emulator found
      outs() << ": " << more.split('\n').first.trim();
    outs() << '\n';
  }
  outs().flush();
}

void printJson(const kernels::Request &request, const SearchResult &result) {
  json::OStream os(outs());
  const auto values = [&](StringRef name, const kernels::Definitions &definitions) {
    os.attributeObject(name, [&] {
      for (const auto &[key, value] : definitions)
        os.attribute(key, value);
    });
  };
  os.object([&] {
    os.attribute("kernel", StringRef(request.kernel->name()));
    values("problem", problemValues(request));
    if (result.candidates.front().isTimed())
      os.attribute("own_us", result.candidates.front().time());
    if (result.best) {
      os.attribute("best_us", result.candidates[*result.best].time());
      values("best", result.candidates[*result.best].values);
    }
    os.attribute("complete", result.isComplete());
    os.attribute("resumed", uint64_t(result.resumed));
    os.attribute("seconds", result.seconds);
    os.attributeArray("candidates", [&] {
      for (const Candidate &each : result.candidates)
        os.object([&] {
          values("values", each.values);
          if (each.modelled > 0)
            os.attribute("model_us", each.modelled);
          if (!each.skipped.empty()) {
            os.attribute("skipped", json::fixUTF8(each.skipped));
            return;
          }
          os.attributeArray("us", [&] {
            for (double time : each.times)
              os.value(time);
          });
        });
    });
  });
  outs() << '\n';
  outs().flush();
}

/// The contents of inputs and the reference of the kernel's own choice, for all candidates: processes share
/// this one's memory.
Result<std::shared_ptr<const kernels::Problem>> makeProblem(const TuneSetting &setting,
                                                            const kernels::Definitions &given) {
  Result<kernels::Request> request = setting.request(given, {});
  if (!request)
    return request.error();
  constexpr double operations = 5e7; // of comparing
  auto problem =
      kernels::Problem::create(*request, {.seed = setting.seed, .referenceOperations = operations});
  if (!problem)
    return problem.error();
  if ((*problem)->initial().specs.empty()) {
    kernels::CompileLog log;
    const auto traced = kernels::trace(*request, *findTarget(setting.options.target), log);
    return invalid(
        fmt::format("expected the kernel's own choice to have tensors, because other candidates are "
                    "compared with it, but got none{}",
                    traced ? "" : ": " + traced.error().message));
  }
  if (Result<void> computed = (*problem)->computeReference(); !computed)
    return computed.error();
  return problem;
}

SearchSteps stepsOf(const TuneSetting &setting, const kernels::Definitions &given,
                    const std::shared_ptr<const kernels::Problem> &problem) {
  return {
      .prepare = [&](const kernels::Definitions &values) { return prepareCandidate(setting, given, values); },
      .time = [&](const kernels::Definitions &values,
                  TuneCheck check) { return timeCandidate(setting, given, values, problem, check); }};
}

} // namespace

TuneCommand::TuneCommand()
    : command("tune", "Measure which values of a kernel's open parameters are fastest"),
      kernel(cl::sub(command), cl::Positional, cl::desc("<kernel | file.cpp>")),
      shapes("shapes", cl::sub(command), cl::value_desc("file"),
             cl::desc("Problems to tune for, a line of name=value each, instead of that of -D alone")),
      budget("budget", cl::sub(command), cl::value_desc("60s|2m|all"), cl::init("60s"),
             cl::desc("What tuning a problem may take; all: as long as all candidates take")),
      folder("tuning", cl::sub(command), cl::value_desc("folder"), cl::init("tuning"),
             cl::desc("Where results are written, and an earlier tuning is resumed from")),
      limit("limit", cl::sub(command), cl::value_desc("seconds"), cl::init(20),
            cl::desc("What compiling a candidate may take, and what running one may")),
      rounds("rounds", cl::sub(command), cl::value_desc("count"), cl::init(SearchOptions().rounds),
             cl::desc("How often candidates that are close to the fastest are timed")),
      jobs("jobs", cl::sub(command), cl::value_desc("count"), cl::init(0),
           cl::desc("Candidates that are compiled at once; 0: one per core")),
      seed("seed", cl::sub(command), cl::value_desc("number"),
           cl::desc("Seed of the inputs and of orders instead of a fresh one")),
      json("json", cl::sub(command), cl::desc("One JSON object per problem, with all candidates")),
      deviceFlags(command), flags(command) {}

Result<SearchOptions> TuneCommand::searchOptions() const {
  const auto time = parseBudget(budget.getValue());
  if (!time)
    return invalid("expected --budget of a time such as 60s or 2m, or all, but got '" + excerpt(budget) +
                   "'");
  if (folder.empty())
    return invalid("expected a folder as --tuning, but got an empty name");
  constexpr unsigned mostSeconds = 3600, mostRounds = 100, mostJobs = 1024;
  if (limit < 1 || limit > mostSeconds)
    return invalid(fmt::format("expected --limit from 1 to {}, but got {}", mostSeconds, limit.getValue()));
  if (rounds < 1 || rounds > mostRounds)
    return invalid(fmt::format("expected --rounds from 1 to {}, but got {}", mostRounds, rounds.getValue()));
  if (jobs > mostJobs)
    return invalid(fmt::format("expected --jobs from 0 to {}, but got {}", mostJobs, jobs.getValue()));
  return SearchOptions{.budget = *time, .rounds = int(rounds), .jobs = jobs};
}

Result<std::vector<kernels::Request>> TuneCommand::requests(const kernels::Kernel &kernel,
                                                            const kernels::Definitions &given,
                                                            kernels::DefaultSizes sizes) const {
  std::vector<kernels::Request> all;
  const auto add = [&](const kernels::Definitions &definitions) -> Result<void> {
    Result<kernels::Request> request =
        kernels::Request::parseLaunch(kernel, definitions, flags.fixedDimensions(), sizes);
    if (!request)
      return request.error();
    if (llvm::any_of(kernel.parameters(),
                     [](const kernels::Parameter &each) { return each.name == "ranks"; }))
      return invalid(fmt::format("expected a kernel of one device to tune, but '{}' runs on several, whose "
                                 "number is ranks",
                                 kernel.name()));
    for (const kernels::Parameter &parameter : kernel.parameters())
      if (parameter.isDimension() && *request->values.find(parameter.name) == "0")
        return invalid(
            fmt::format("expected sizes above 0 to tune for, because an empty problem takes no time, but "
                        "got {}=0",
                        parameter.name));
    if (Result<std::vector<Candidate>> candidates = candidatesOf(*request); !candidates)
      return candidates.error();
    all.push_back(std::move(*request));
    return {};
  };
  if (shapes.empty()) {
    if (Result<void> added = add(given); !added)
      return added.error();
    return all;
  }
  auto buffer = MemoryBuffer::getFile(shapes, /*IsText=*/true);
  if (!buffer)
    return invalid("cannot read '" + excerpt(shapes) + "' (--shapes): " + buffer.getError().message());
  std::istringstream lines((*buffer)->getBuffer().str());
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto wrong = [&](const std::string &message) {
      return invalid(fmt::format("{}:{}: {}", excerpt(shapes), number, message));
    };
    std::istringstream words(line.substr(0, line.find('#')));
    kernels::Definitions definitions = given;
    bool isEmpty = true;
    for (std::string word; words >> word; isEmpty = false) {
      const auto [name, value] = StringRef(word).split('=');
      if (name.empty() || name.size() == word.size())
        return wrong("expected name=value, but got '" + excerpt(word) + "'");
      if (!definitions.try_emplace(name.str(), value.str()).second)
        return wrong("expected each parameter once, in the line or by -D, but '" + excerpt(name) +
                     "' is given twice");
    }
    if (isEmpty)
      continue;
    if (Result<void> added = add(definitions); !added)
      return wrong(added.error().message);
  }
  if (all.empty())
    return invalid("expected a problem in '" + excerpt(shapes) +
                   "' (--shapes), a line of name=value, but got none");
  return all;
}

ExitCode TuneCommand::tuneAll(TuneSetting &setting, const std::vector<kernels::Request> &requests,
                              const SearchOptions &options) const {
  Result<TuningLock> lock = TuningLock::take(folder, setting.kernel->name());
  if (!lock)
    return failBy(lock.error());
  bool isWhole = true;
  for (const kernels::Request &request : requests) {
    // Read for each problem, as the one before appends to them.
    Result<TuningFiles> files = TuningFiles::open(folder, setting.kernel->name());
    if (!files)
      return failBy(files.error());
    if (files->remark())
      errs() << "tlc: remark: " << *files->remark() << '\n';
    const Result<std::shared_ptr<const kernels::Problem>> problem = makeProblem(setting, request.given);
    if (!problem)
      return failBy(problem.error());
    Result<SearchResult> found = search(request, {setting.device, setting.options, setting.alignment},
                                        stepsOf(setting, request.given, *problem), *files, options);
    if (!found)
      return failBy(found.error());
    json ? printJson(request, *found) : printText(request, *found);
    if (!found->candidates.front().skipped.empty())
      errs() << "tlc: warning: the kernel's own choice was not timed: " << found->candidates.front().skipped
             << '\n';
    isWhole &= found->best.has_value();
  }
  return isWhole ? ExitCode::success : fail("no candidate of a problem ran");
}

ExitCode TuneCommand::execute() const {
  if (kernel.empty())
    return failUsage("expected a kernel, but got none; 'tlc tune --help' shows how");
  Result<SearchOptions> options = searchOptions();
  if (!options)
    return failUsage(options.error().message);
  Result<CompileOptions> compileOptions = flags.options();
  Result<std::optional<Alignment>> alignment = flags.alignment();
  Result<kernels::Definitions> given = flags.definitions();
  Result<CacheOptions> cache = flags.kernelFlags().cache();
  Result<EmulatorOptions> model = deviceFlags.emulatorOptions();
  Result<std::vector<std::optional<uint64_t>>> schedules = deviceFlags.scheduleSeeds();
  const tlc::Error *wrong = !compileOptions ? &compileOptions.error()
                            : !alignment    ? &alignment.error()
                            : !given        ? &given.error()
                            : !cache        ? &cache.error()
                            : !model        ? &model.error()
                            : !schedules    ? &schedules.error()
                                            : nullptr;
  if (wrong)
    return failUsage(wrong->message);
  if (cache->policy == CachePolicy::hitsOnly)
    return failUsage("expected no --cached-only because a tuner compiles all candidates");
  if (schedules->front())
    return failUsage("expected no --schedule because a tuner compares times, not orders");
  if (flags.showsCompiler())
    return failUsage("expected none of --time, --remarks, --dump-dir and flags that print passes because "
                     "candidates are compiled in processes of their own; 'tlc compile' takes them");
  Result<const kernels::Kernel *> found = flags.kernelFlags().find(kernel);
  if (!found)
    return failBy(found.error());

  const Target *emulated = flags.namesTarget() ? findTarget(compileOptions->target) : nullptr;
  TuneSetting setting = {.kernel = *found,
                         .fixedDimensions = {flags.fixedDimensions().begin(), flags.fixedDimensions().end()},
                         .options = std::move(*compileOptions),
                         .cache = std::move(*cache),
                         .alignment = *alignment,
                         .open =
                             [this, emulated](Findings &findings) {
                               return deviceFlags.create(emulated, findings, std::nullopt, 1);
                             },
                         .model = std::move(*model),
                         .limit = std::chrono::seconds(limit),
                         .seed = seed.getNumOccurrences() ? seed : std::random_device()()};
  Result<std::pair<DeviceKind, DeviceProperties>> device = askDevice(setting);
  if (!device)
    return failBy(device.error());
  std::tie(setting.kind, setting.device) = *device;
  if (setting.kind == DeviceKind::emulator && !deviceFlags.namesEmulator())
    return fail(
        "expected a GPU to time kernels on, but found none; --device emulator compares the times of a model "
        "instead");
  if (!flags.namesTarget())
    setting.options.target = setting.device.target;
  setting.model.target = findTarget(setting.options.target);
  setting.model.multiprocessors = setting.device.multiprocessors;
  setting.sizes =
      setting.kind == DeviceKind::emulator ? kernels::DefaultSizes::emulator : kernels::DefaultSizes::usual;
  Result<std::vector<kernels::Request>> problems = requests(**found, *given, setting.sizes);
  if (!problems)
    return failUsage(problems.error().message);
  options->seed = setting.seed;
  options->isModelled = setting.kind == DeviceKind::emulator;
  return tuneAll(setting, *problems, *options);
}
