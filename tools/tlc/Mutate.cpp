// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `mutate`.
#include "tools/tlc/Mutate.h"

#include "tools/mutate/Survey.h"
#include "tools/tlc/Messages.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <random>
#include <set>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

Result<std::string> readFile(const std::string &path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return tlc::Error{ErrorKind::invalidArgument,
                      "cannot read '" + path + "': " + buffer.getError().message()};
  return (*buffer)->getBuffer().str();
}

tlc::Error inFile(const std::string &path, const tlc::Error &error) {
  return {error.kind, path + ": " + error.message};
}

} // namespace

MutateCommand::MutateCommand()
    : command("mutate", "Take each synchronisation of a kernel away and see whether that is found"),
      kernel(cl::sub(command), cl::Positional, cl::value_desc("kernel"), cl::desc("<kernel>")),
      caseFile("cases", cl::sub(command), cl::value_desc("file"),
               cl::desc("Programs and problems, instead of a kernel and -D")),
      equivalentFile("equivalent", cl::sub(command), cl::value_desc("file"),
                     cl::desc("Mutants that are as good as the program, with reasons")),
      sourceFolder("sources", cl::sub(command), cl::value_desc("folder"), cl::init("."),
                   cl::desc("Where the paths of the kernel's lines begin; mutants are named by their text")),
      eachSwitch("each-disabled", cl::sub(command),
                 cl::desc("Every program again without each of the optimisations")),
      verbose("verbose", cl::sub(command), cl::desc("Say of every mutant what found it")),
      seed("seed", cl::sub(command), cl::value_desc("number"), cl::desc("Of the inputs (default: random)")),
      threads("threads", cl::sub(command), cl::value_desc("count"), cl::init(0),
              cl::desc("Mutants that are tried at a time (default: one per core)")),
      flags(command) {}

Result<std::vector<mutate::Case>> MutateCommand::cases(const CompileOptions &options) const {
  std::vector<mutate::Case> cases;
  if (!caseFile.empty()) {
    if (!kernel.empty())
      return tlc::Error{ErrorKind::invalidArgument, "expected a kernel or --cases, but got both"};
    Result<std::string> text = readFile(caseFile);
    if (!text)
      return text.error();
    Result<std::vector<mutate::Case>> parsed = mutate::parseCases(*text);
    if (!parsed)
      return inFile(caseFile, parsed.error());
    cases = std::move(*parsed);
  } else {
    if (kernel.empty())
      return tlc::Error{ErrorKind::invalidArgument, "expected a kernel or --cases, but got neither"};
    Result<kernels::Definitions> definitions = flags.definitions();
    if (!definitions)
      return definitions.error();
    cases.push_back({kernel, *definitions, options.optimizations, {{}}});
  }
  if (!eachSwitch)
    return cases;
  const size_t count = cases.size();
  for (const OptimizationSwitch &each : optimizationSwitches())
    for (size_t i = 0; i != count; ++i) {
      mutate::Case without = cases[i];
      if (!std::exchange(without.optimizations.*each.member, false))
        continue;
      cases.push_back(std::move(without));
    }
  return cases;
}

ExitCode MutateCommand::execute() const {
  Result<CompileOptions> options = flags.options();
  if (!options)
    return failUsage(options.error().message);
  Result<std::optional<Alignment>> alignment = flags.alignment();
  if (!alignment)
    return failUsage(alignment.error().message);
  Result<std::vector<mutate::Case>> cases = this->cases(*options);
  if (!cases)
    return failUsage(cases.error().message);
  std::vector<mutate::Equivalent> equivalents;
  if (!equivalentFile.empty()) {
    Result<std::string> text = readFile(equivalentFile);
    if (!text)
      return failUsage(text.error().message);
    Result<std::vector<mutate::Equivalent>> parsed = mutate::parseEquivalents(*text);
    if (!parsed)
      return failUsage(inFile(equivalentFile, parsed.error()).message);
    equivalents = std::move(*parsed);
  }

  const mutate::Sources sources(sourceFolder.getValue());
  kernels::Library library;
  mutate::TrialOptions trialOptions{.target = options->target,
                                    .seed = seed.getNumOccurrences() ? seed : std::random_device()()};
  outs() << "seed " << trialOptions.seed << '\n';
  size_t mutants = 0, equivalent = 0, wrong = 0;
  std::set<std::string> seen; // an optimisation that a program has no use for changes nothing
  for (const mutate::Case &each : *cases) {
    Result<std::vector<mutate::KernelTrial>> trials =
        mutate::KernelTrial::create(library, each, trialOptions);
    if (!trials) {
      // A program by hand may need what is switched off.
      if (!eachSwitch || each.optimizations == Optimizations())
        return fail(each.origin().text() + ": " + trials.error().message);
      outs() << each.origin().text() << ": does not compile\n";
      continue;
    }
    for (const mutate::KernelTrial &trial : *trials) {
      if (*alignment && trial.alignment() != **alignment)
        continue;
      if (!seen.insert(trial.ptx()).second)
        continue;
      Result<mutate::Survey> survey = mutate::Survey::make(
          trial.origin(), trial.ptx(), [&](const std::string &ptx) { return trial.run(ptx); }, equivalents,
          sources, threads);
      if (!survey)
        return fail(survey.error().message);
      outs() << survey->summary() << '\n';
      if (verbose)
        for (const mutate::Survey::Entry &entry : survey->entries())
          outs() << "  " << entry.mutant.key() << ": "
                 << (entry.equivalent
                         ? "equivalent: " + entry.equivalent->reason
                         : std::string(toString(entry.outcome.detection)) + ": " + entry.outcome.message)
                 << '\n';
      for (const mutate::Survey::Entry *entry : survey->wrong())
        outs() << "  " << survey->complaint(*entry) << '\n';
      outs().flush();
      mutants += survey->entries().size();
      equivalent += survey->equivalentCount();
      wrong += survey->wrong().size();
    }
  }
  outs() << mutants << " mutants, " << equivalent << " equivalent, " << wrong << " wrong\n";
  return wrong == 0 ? ExitCode::success : ExitCode::failure;
}
