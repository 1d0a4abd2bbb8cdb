// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `run`.
#include "tools/tlc/Run.h"

#include "compiler/codegen/PtxForms.h"
#include "kernels/harness/KernelRun.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/ReportRun.h"
#include "tools/tlc/Rounds.h"
#include "tools/tlc/RunResult.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

RunCommand::RunCommand()
    : command("run", "Run a kernel once on random inputs"),
      kernel(cl::sub(command), cl::Positional, cl::desc("<kernel | file.cpp | report.tlc>")),
      verify("verify", cl::sub(command),
             cl::desc("Compare the result with the reference; status 1 if it is wrong")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")),
      why("why", cl::sub(command), cl::ValueOptional, cl::value_desc("Y[3,17]"),
          cl::desc("Trace the first wrong element, or this one, back on the emulator; needs --verify")),
      element(cl::sub(command), cl::Positional, cl::value_desc("element"), cl::desc("[element of --why]")),
      problemFlags(command),
      forms(
          "forms", cl::sub(command), cl::value_desc("file"),
          cl::desc("Add the forms of the kernel's PTX instructions to a file, if the result is right; needs "
                   "--verify")),
      deviceFlags(command), tuning(command), flags(command) {}

std::variant<RunPlan, ExitCode> RunCommand::plan(Findings &findings) const {
  if (!namesReport(kernel))
    return planRun(kernel, {flags, deviceFlags, problemFlags, tuning}, findings,
                   json ? Format::json : Format::text);
  if (Result<void> free = checkFree(command, kernel); !free)
    return failUsage(free.error().message);
  Result<CacheOptions> cache = flags.kernelFlags().cache();
  Result<CompileOptions> shown = flags.options();
  if (!cache || !shown)
    return failUsage((cache ? shown.error() : cache.error()).message);
  Result<ReportedKernel> reported = ReportedKernel::open(kernel);
  if (!reported)
    return failBy(reported.error());
  Result<RunPlan> plan = planRun(std::move(*reported), *cache, findings);
  if (!plan)
    return failBy(plan.error());
  plan->choice.options.dumpDirectory = shown->dumpDirectory;
  plan->choice.options.inspection = shown->inspection;
  printHistory(*plan->reported, verify);
  return std::move(*plan);
}

Result<void> RunCommand::checkWhy() const {
  const auto invalid = [](std::string message) {
    return tlc::Error{ErrorKind::invalidArgument, std::move(message)};
  };
  if (!element.empty() && !why.getNumOccurrences())
    return invalid("expected one kernel, but got '" + excerpt(element) +
                   "', too; an element of an output needs --why");
  if (!element.empty() && !why.empty())
    return invalid("expected one element of --why, but got '" + excerpt(why) + "' and '" + excerpt(element) +
                   "'");
  if (why.getNumOccurrences() && !verify)
    return invalid("expected --verify because of --why, which explains what is wrong");
  if (why.getNumOccurrences() && json)
    return invalid("expected no --json because of --why, which prints text");
  return {};
}

Result<void> RunCommand::explainRun(const RunPlan &plan,
                                    const std::shared_ptr<const kernels::Problem> &problem,
                                    const std::shared_ptr<const Artifact> &artifact,
                                    std::optional<AskedElement> asked, const kernels::Verdict &verdict,
                                    std::optional<uint64_t> scheduleSeed) const {
  if (!why.getNumOccurrences())
    return {};
  if (!asked)
    asked = firstWrong(verdict, problem->initial());
  if (!asked) {
    outs() << (verdict.correct() ? "no element is wrong; --why=Y[3,17] traces one that is right\n"
                                 : "what is wrong is no value of an element; --why=Y[3,17] traces one\n");
    return {};
  }
  EmulatorOptions options = plan.emulator;
  options.scheduleSeed = scheduleSeed;
  return explain(plan, problem, artifact, options, *asked);
}

ExitCode RunCommand::execute() const {
  if (kernel.empty())
    return failUsage("expected a kernel, but got none; 'tlc run --help' shows how");
  if (!forms.empty() && !verify)
    return failUsage("expected --verify because of --forms, which records what ran right");
  if (Result<void> valid = checkWhy(); !valid)
    return failUsage(valid.error().message);
  const Format format = json ? Format::json : Format::text;
  Findings findings;
  std::variant<RunPlan, ExitCode> planned = plan(findings);
  if (const ExitCode *code = std::get_if<ExitCode>(&planned))
    return *code;
  RunPlan &plan = *std::get_if<RunPlan>(&planned);
  const kernels::Request &request = plan.choice.request;
  const report::Report *reported = plan.reported ? &plan.reported->report() : nullptr;
  const Heartbeat heartbeat(
      [what = "running " + kernel + " on " + plan.chosen.device().properties().name] { return what; });

  kernels::CompileLog log;
  Result<std::shared_ptr<const Artifact>> artifact = compile(plan, flags, log);
  if (!artifact) {
    const ExitCode code = failCompile(artifact.error(), log.diagnostics, format);
    if (reported)
      printSameness(*reported, artifact.error().message);
    return code;
  }
  Result<kernels::ProblemOptions> options = plan.problem(artifact->get());
  if (!options)
    return failUsage(options.error().message);
  auto problem = kernels::Problem::create(request, *options);
  if (!problem)
    return fail(problem.error().message);
  std::optional<AskedElement> asked;
  if (const StringRef text = element.empty() ? why.getValue() : element.getValue(); !text.empty()) {
    Result<AskedElement> parsed = parseElement(text, (*problem)->initial());
    if (!parsed)
      return failUsage(parsed.error().message);
    asked = *parsed;
  }
  std::optional<kernels::KernelRun> run;
  std::optional<kernels::Verdict> verdict;
  for (const std::optional<uint64_t> &scheduleSeed : plan.schedules) {
    const std::string how = scheduleSeed ? formatv(" (--schedule seed={0})", *scheduleSeed).str() : "";
    if (scheduleSeed != plan.schedules.front()) {
      run.reset();
      Result<ChosenDevice> other = plan.open(scheduleSeed);
      if (!other)
        return fail(other.error().message);
      plan.chosen = std::move(*other);
    }
    auto created = kernels::KernelRun::create(plan.chosen.ranks, *problem, *artifact, plan.choice.alignment);
    if (!created)
      return fail(created.error().message);
    run.emplace(std::move(*created));
    RunResult result{request, *run, plan.chosen.device(), options->seed, {}, 0, findings, {}, scheduleSeed};
    const auto failRun = [&](const tlc::Error &error) {
      result.error = error.message;
      if (json)
        printJson(result);
      const ExitCode code = fail(error.message + how);
      if (reported)
        printSameness(*reported, error.message);
      return code;
    };
    if (verify) {
      Result<kernels::Verdict> compared = run->verify();
      if (!compared)
        return failRun(compared.error());
      verdict = *compared;
    } else if (Result<void> done = run->execute(); !done) {
      return failRun(done.error());
    }
    if (verdict && !verdict->correct()) {
      result.verdict = verdict;
      result.milliseconds = run->seconds() * 1e3;
      json ? printJson(result) : printText(result);
      printWarnings(findings);
      if (Result<void> done = explainRun(plan, *problem, *artifact, asked, *verdict, scheduleSeed); !done)
        (void)failBy(done.error());
      if (reported)
        (void)checkOutputs(*plan.reported, digitsOf(verdict->outputs), format);
      return fail("wrong result: " + verdict->complaint + how);
    }
  }
  if (!forms.empty()) {
    const auto variant =
        find_if((*artifact)->variants, [&](const Variant &each) { return each.name == run->variant(); });
    if (Result<void> recorded = recordForms(forms, plan.chosen.kind == DeviceKind::cuda ? "cuda" : "emulator",
                                            formsOf(variant->ptx));
        !recorded)
      return fail(recorded.error().message);
  }
  double milliseconds = run->seconds() * 1e3;
  // The first launch is not representative.
  if (plan.chosen.kind == DeviceKind::cuda) {
    auto times = timeInTurns(plan.chosen.ranks, {[&] { return run->launch(); }},
                             {.rounds = 1, .warmups = 0, .launches = 1});
    if (!times)
      return fail(times.error().message);
    milliseconds = (*times)[0][0] * 1e3;
  }
  RunResult result{request, *run, plan.chosen.device(), options->seed, verdict, milliseconds, findings};
  if (reported) {
    Result<std::vector<kernels::HostTensor>> outputs = run->outputs();
    if (!outputs)
      return fail(outputs.error().message);
    result.outputs = digitsOf(kernels::digestOf(*outputs));
  }
  json ? printJson(result) : printText(result);
  printWarnings(findings);
  if (!json && plan.schedules.front())
    outs() << formatv("the same in {0} order{1} of warps and completions\n", plan.schedules.size(),
                      plan.schedules.size() == 1 ? "" : "s");
  if (verdict)
    if (Result<void> done = explainRun(plan, *problem, *artifact, asked, *verdict, plan.schedules.back());
        !done)
      return failBy(done.error());
  return reported ? checkOutputs(*plan.reported, result.outputs, format) : ExitCode::success;
}
