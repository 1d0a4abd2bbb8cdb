// SPDX-License-Identifier: Apache-2.0
/// \file
/// tlc-differential: programs drawn at random, compiled, run and compared with what they mean.
#include "compiler/codegen/PtxForms.h"
#include "test/differential/Coverage.h"
#include "test/differential/Generate.h"
#include "test/differential/Print.h"
#include "test/differential/Processes.h"
#include "test/differential/Reduce.h"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <span>

using namespace tlc;
using namespace tlc::differential;

namespace {

constexpr std::string_view help =
    R"(tlc-differential: programs drawn at random are compiled, run and compared with what they mean.

  --seeds <from>[:<count>]   which programs (default: 0:1000)
  --jobs <number>            processes (default: 1)
  --device <name>            where they run: emulator (default, its checker on), cuda, or none: compiles only
  --feature <name>           has this wherever it can; --feature list names them
  --print <seed>             prints the program and its module, and runs nothing
  --reduce <seed>            makes a program that fails as small as it stays failing
  --reductions <number>      failures that are made small in a run, one of each kind (default: 5)
  --forms <file>             adds the forms of the instructions of programs that ran right, with the device
  --ptx <folder>             writes the PTX of each variant there, as <seed>.<number>.<variant>.ptx
  --coverage                 what was drawn: operations, remarks, pairs of features
  --time-limit <seconds>     begins no more programs after that

Exit status: 0 nothing found, 1 a program failed, 2 an error.
)";

struct Settings {
  uint64_t first = 0, count = 1000, jobs = 1, reductions = 5, timeLimit = 1'000'000'000;
  bool coverage = false;
  RunOn device = RunOn::emulator;
  std::string forms = {}, ptx = {}; ///< paths; empty: none
  std::optional<Feature> feature = {};
  std::optional<uint64_t> print = {}, reduce = {};
};

/// By `RunOn`.
constexpr std::array<std::string_view, 3> deviceNames = {"emulator", "cuda", "none"};

bool parse(std::string_view text, uint64_t &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool readValue(std::string_view name, std::string_view value, Settings &settings) {
  if (name == "--seeds") {
    size_t colon = std::min(value.find(':'), value.size());
    settings.count = colon == value.size() ? 1 : settings.count;
    return parse(value.substr(0, colon), settings.first) &&
           (colon == value.size() || parse(value.substr(colon + 1), settings.count));
  }
  if (name == "--jobs")
    return parse(value, settings.jobs) && settings.jobs >= 1 && settings.jobs <= 1024;
  if (name == "--device") {
    auto found = std::ranges::find(deviceNames, value);
    settings.device = RunOn(found - deviceNames.begin());
    return found != deviceNames.end();
  }
  if (name == "--forms" || name == "--ptx") {
    (name == "--forms" ? settings.forms : settings.ptx) = value;
    return !value.empty();
  }
  if (name == "--feature") {
    settings.feature = parseFeature(value);
    return settings.feature.has_value();
  }
  if (name == "--print")
    return parse(value, settings.print.emplace());
  if (name == "--reduce")
    return parse(value, settings.reduce.emplace());
  if (name == "--reductions")
    return parse(value, settings.reductions);
  return name == "--time-limit" && parse(value, settings.timeLimit);
}

/// What is wrong with the arguments; empty if nothing is.
std::string readArguments(std::span<char *> arguments, Settings &settings) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    if (name == "--coverage") {
      settings.coverage = true;
      continue;
    }
    if (++i == arguments.size())
      return fmt::format("expected a value after '{}'; --help shows what there is", name);
    if (!readValue(name, arguments[i], settings))
      return fmt::format("expected an option and its value, but got '{} {}'; --help shows what there is",
                         name, arguments[i]);
  }
  return {};
}

/// Failures with the same beginning are one until they have been looked at.
std::string kindOf(const Outcome &outcome) {
  std::string kind(nameOf(outcome.verdict));
  // Numbers differ from program to program.
  bool inQuotes = false;
  for (char c : outcome.message.substr(0, 400)) {
    inQuotes ^= c == '\'';
    if (!inQuotes && !(c >= '0' && c <= '9') && kind.size() < 120)
      kind += c;
  }
  return kind;
}

class Run {
public:
  explicit Run(const Settings &settings) : settings(settings) {}

  int all() {
    auto work = [&](uint64_t seed) { return compareSeed(seed); };
    auto report = [&](uint64_t seed, const Outcome &outcome, double seconds) {
      take(seed, outcome, seconds);
    };
    ProcessOptions options = {.jobs = int(settings.jobs), .totalSeconds = double(settings.timeLimit)};
    if (settings.device == RunOn::gpu) {
      options.memoryBytes.reset();
      options.hangSeconds = 300; // the driver's ptxas needs more than a minute for some
    }
    uint64_t done = runInProcesses(settings.first, settings.count, options, work, report);
    uint64_t failures = 0;
    for (size_t verdict = 0; verdict < verdicts.size(); ++verdict)
      failures += isFailure(Verdict(verdict)) ? verdicts[verdict] : 0;
    size_t left = settings.reductions;
    for (const auto &[kind, seeds] : kinds) {
      fmt::print("\n{} programs: {}\n", seeds.size(), kind);
      if (left > 0) {
        --left;
        printReduced(seeds.front());
      }
    }
    if (settings.coverage)
      coverage.print();
    if (!settings.forms.empty())
      if (Result<void> recorded =
              recordForms(settings.forms, std::string(deviceNames[size_t(settings.device)]), forms);
          !recorded) {
        fmt::print(stderr, "tlc-differential: error: {}\n", recorded.error().message);
        return 2;
      }
    fmt::print("\n{} programs, seeds {} to {}, {} process{}, {:.0f} s of them all\n", done, settings.first,
               settings.first + settings.count - 1, settings.jobs, settings.jobs == 1 ? "" : "es", seconds);
    for (size_t verdict = 0; verdict < verdicts.size(); ++verdict)
      if (verdicts[verdict] != 0)
        fmt::print("  {}: {}{}\n", nameOf(Verdict(verdict)), verdicts[verdict],
                   Verdict(verdict) == Verdict::right ? fmt::format(", {} of them bit for bit", exact) : "");
    fmt::print("{} failures\n", failures);
    return failures == 0 ? 0 : 1;
  }

  void printReduced(uint64_t seed) {
    DrawnProgram drawn = generate(seed, settings.feature);
    CompareOptions options = optionsOf(seed);
    options.ptxFolder.clear();
    Reduced reduced = reduce(drawn.tree, options);
    fmt::print("\nseed {}: {}\n{}\n{}\nagain: tlc-differential --reduce {}{}\n", seed,
               reduced.outcome.message, print(reduced.tree), moduleText(reduced.tree), seed,
               settings.feature ? fmt::format(" --feature {}", nameOf(*settings.feature)) : "");
    std::fflush(stdout);
  }

private:
  CompareOptions optionsOf(uint64_t seed) const {
    return {.device = settings.device, .allSubsets = seed % 50 == 0, .ptxFolder = settings.ptx};
  }

  Outcome compareSeed(uint64_t seed) const {
    return compare(generate(seed, settings.feature).tree, optionsOf(seed));
  }

  void take(uint64_t seed, const Outcome &outcome, double took) {
    ++verdicts[size_t(outcome.verdict)];
    exact += outcome.verdict == Verdict::right && outcome.isExact;
    seconds += took;
    if (settings.coverage)
      coverage.add(generate(seed, settings.feature).features, outcome);
    if (outcome.verdict == Verdict::right)
      forms.insert(outcome.forms.begin(), outcome.forms.end());
    if (!isFailure(outcome.verdict))
      return;
    std::vector<uint64_t> &seeds = kinds[kindOf(outcome)];
    seeds.push_back(seed);
    if (seeds.size() <= 3) {
      fmt::print("seed {}: {}: {}\n", seed, nameOf(outcome.verdict), outcome.message);
      std::fflush(stdout);
    }
  }

  const Settings &settings;
  std::array<uint64_t, size_t(Verdict::hang) + 1> verdicts = {};
  uint64_t exact = 0;
  double seconds = 0;
  std::map<std::string, std::vector<uint64_t>> kinds;
  std::set<std::string> forms;
  Coverage coverage;
};

} // namespace

int main(int argc, char **argv) {
  std::span<char *> arguments(argv + 1, size_t(argc - 1));
  std::string_view first = arguments.empty() ? "" : arguments[0];
  if (first == "--help") {
    fmt::print("{}", help);
    return 0;
  }
  if (arguments.size() == 2 && first == "--feature" && std::string_view(arguments[1]) == "list") {
    for (size_t number = 0; number < featureCount; ++number)
      fmt::print("{}\n", nameOf(Feature(number)));
    return 0;
  }
  Settings settings;
  if (std::string mistake = readArguments(arguments, settings); !mistake.empty()) {
    fmt::print(stderr, "tlc-differential: error: {}\n", mistake);
    return 2;
  }
  if (settings.print) {
    ProgramTree tree = generate(*settings.print, settings.feature).tree;
    fmt::print("{}\n{}\n", print(tree), moduleText(tree));
    return 0;
  }
  Run run(settings);
  if (settings.reduce) {
    run.printReduced(*settings.reduce);
    return 0;
  }
  return run.all();
}
