// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `mutate`.
#include "tools/tlc/Mutate.h"

#include "tools/tlc/Messages.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <random>
#include <set>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

MutateCommand::MutateCommand()
    : command("mutate", "Take each synchronisation of a kernel away and see whether that is found"),
      kernel(cl::sub(command), cl::Positional, cl::value_desc("kernel"), cl::desc("<kernel | file.cpp>")),
      caseFile("cases", cl::sub(command), cl::value_desc("file"),
               cl::desc("Programs and problems, instead of a kernel and -D")),
      eachSwitch("each-disabled", cl::sub(command),
                 cl::desc("Every program again without each of the optimisations")),
      seed("seed", cl::sub(command), cl::value_desc("number"), cl::desc("Of the inputs (default: random)")),
      schedules("schedule", cl::sub(command), cl::value_desc("count"), cl::init(4),
                cl::desc("Orders of warps and completions to try")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")), survey(command), flags(command) {
}

Result<std::vector<mutate::Case>> MutateCommand::cases(const CompileOptions &options) const {
  std::vector<mutate::Case> cases;
  if (!caseFile.empty()) {
    if (!kernel.empty())
      return tlc::Error{ErrorKind::invalidArgument, "expected a kernel or --cases, but got both"};
    Result<std::string> text = readTextFile(caseFile);
    if (!text)
      return text.error();
    Result<std::vector<mutate::Case>> parsed = mutate::parseCases(*text, options.target);
    if (!parsed)
      return inFile(caseFile, parsed.error());
    cases = std::move(*parsed);
  } else {
    if (kernel.empty())
      return tlc::Error{ErrorKind::invalidArgument, "expected a kernel or --cases, but got neither"};
    Result<kernels::Definitions> definitions = flags.definitions();
    if (!definitions)
      return definitions.error();
    Result<const kernels::Kernel *> found = flags.kernelFlags().find(kernel);
    if (!found)
      return found.error();
    cases.push_back({std::string((*found)->name()),
                     *definitions,
                     options.optimizations,
                     options.target,
                     {{}},
                     kernels::DefaultSizes::emulator,
                     *found});
    Result<kernels::Request> request = cases.back().problem({});
    if (!request)
      return request.error();
    printEmulatorSizes(*request);
  }
  if (!eachSwitch)
    return cases;
  const size_t count = cases.size();
  for (const OptimizationSwitch &each : optimizationSwitches())
    for (size_t i = 0; i != count; ++i) {
      mutate::Case without = cases[i];
      if (!std::exchange(without.optimizations.*each.member, false) || each.member == &Optimizations::reports)
        continue; // reports order nothing
      cases.push_back(std::move(without));
    }
  return cases;
}

ExitCode MutateCommand::execute() const {
  Result<CompileOptions> options = flags.options();
  if (!options)
    return failUsage(options.error().message);
  constexpr unsigned mostSchedules = 1000;
  if (schedules < 1 || schedules > mostSchedules)
    return failUsage("expected --schedule from 1 to " + std::to_string(mostSchedules) + ", but got " +
                     std::to_string(schedules));
  if (Result<void> valid = survey.check(); !valid)
    return failUsage(valid.error().message);
  Result<std::optional<Alignment>> alignment = flags.alignment();
  if (!alignment)
    return failUsage(alignment.error().message);
  Result<CacheOptions> cache = flags.kernelFlags().cache();
  if (!cache)
    return failUsage(cache.error().message);
  Result<std::vector<mutate::Case>> cases = this->cases(*options);
  if (!cases)
    return failBy(cases.error());
  Result<std::vector<mutate::Equivalent>> equivalents = survey.equivalents();
  if (!equivalents)
    return failUsage(equivalents.error().message);

  kernels::Library library(std::move(*cache));
  mutate::TrialOptions trialOptions{.waitLimit = options->waitLimit,
                                    .multicast = options->multicast,
                                    .seed = seed.getNumOccurrences() ? seed : std::random_device()(),
                                    .schedules = schedules};
  if (!json)
    outs() << "seed " << trialOptions.seed << '\n';
  json::Array report;
  Tally all;
  bool isAnyTried = false;
  std::set<std::string> seen; // an optimisation that a program has no use for changes nothing
  for (const mutate::Case &each : *cases) {
    Result<std::vector<mutate::KernelTrial>> trials =
        mutate::KernelTrial::create(library, each, trialOptions);
    if (!trials) {
      // A program by hand may need what is switched off.
      if (!eachSwitch || each.optimizations == Optimizations())
        return fail(each.origin().text() + ": " + trials.error().message);
      if (json)
        report.push_back(json::Object{{"program", json::fixUTF8(each.origin().text())}, {"compiles", false}});
      else
        outs() << each.origin().text() << ": does not compile\n";
      continue;
    }
    for (const mutate::KernelTrial &trial : *trials) {
      if (*alignment && trial.alignment() != **alignment)
        continue;
      isAnyTried = true;
      if (!seen.insert(trial.ptx()).second)
        continue;
      Result<Tally> tally = survey.run(
          trial.origin(), trial.ptx(), [&](const std::string &ptx) { return trial.run(ptx); }, *equivalents,
          json ? &report : nullptr);
      if (!tally)
        return fail(tally.error().message);
      all += *tally;
    }
  }
  if (!isAnyTried && *alignment)
    return failUsage((Twine("expected a problem that the ") +
                      (**alignment == Alignment::aligned ? "aligned" : "general") +
                      " variant takes because of --variant, but the launcher takes the other for each")
                         .str());
  if (json)
    all.printJson(trialOptions.seed, std::move(report));
  else
    all.print();
  return all.wrong == 0 ? ExitCode::success : ExitCode::failure;
}
