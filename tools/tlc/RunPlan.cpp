// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/RunPlan.h"

#include "runtime/support/Excerpt.h"
#include "tools/tlc/Time.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

std::variant<RunPlan, ExitCode> driver::planRun(const std::string &kernel, const RunFlags &flags,
                                                Findings &findings, Format format) {
  std::vector<Diagnostic> ofFile;
  const kernels::Definitions asked = flags.problem.definitions();
  // Sizes that -D gives need only fit the defaults of the device that runs the kernel.
  Result<KernelChoice> choice = flags.compile.choice(kernel, kernels::DefaultSizes::emulator, asked,
                                                     format == Format::json ? &ofFile : nullptr);
  if (!choice)
    return failBy(choice.error(), ofFile, format);
  if (Result<void> valid = flags.problem.check(); !valid)
    return failUsage(valid.error().message);
  auto schedules = flags.device.scheduleSeeds();
  if (!schedules)
    return failUsage(schedules.error().message);
  const Target *emulated = flags.compile.namesTarget() ? findTarget(choice->options.target) : nullptr;
  const int64_t count = choice->request.kernel->ranks(choice->request.values);
  const auto open = [=, &device = flags.device, &findings](std::optional<uint64_t> schedule) {
    return device.create(emulated, findings, schedule, count);
  };
  Result<ChosenDevice> chosen = open(schedules->front());
  if (!chosen)
    return failBy(chosen.error());
  if (schedules->front() && chosen->kind != DeviceKind::emulator)
    return failUsage("expected --device emulator because of --schedule");
  if (chosen->kind == DeviceKind::emulator)
    printEmulatorSizes(choice->request);
  else if (choice = flags.compile.choice(kernel, kernels::DefaultSizes::usual, asked); !choice)
    return failBy(choice.error(), ofFile, format);
  if (!flags.compile.namesTarget())
    choice->options.target = chosen->device().properties().target;
  Result<kernels::Request> tuned = flags.tuning.apply(
      choice->request, {chosen->device().properties(), choice->options, choice->alignment});
  if (!tuned)
    return failBy(tuned.error());
  choice->request = std::move(*tuned);
  Result<EmulatorOptions> emulator = flags.device.emulatorOptions();
  if (!emulator)
    return failUsage(emulator.error().message);
  emulator->target = findTarget(choice->options.target);
  kernels::Request request = choice->request;
  return RunPlan{std::move(*choice),
                 std::move(*chosen),
                 std::move(*schedules),
                 open,
                 std::move(*emulator),
                 [request = std::move(request), &problem = flags.problem](const Artifact *program) {
                   return problem.options(program, request);
                 }};
}

/// Whether a program has the tensors and scalars of its report.
static Result<void> checkTensors(const report::Report &report, const Artifact &program) {
  const size_t ofRank = report.tensors.size() / size_t(report.ranks);
  const auto isArgument = [](const TensorArgument &tensor) { return tensor.access != Access::workspace; };
  // A table is read; its parts are what the report says.
  const auto isSame = [](const TensorArgument &argument, const report::Tensor &tensor) {
    return argument.name == tensor.name && (tensor.isTable || (argument.access == tensor.access &&
                                                               argument.shape.size() == tensor.shape.size()));
  };
  const auto isKnown = [&](const ScalarArgument &scalar) {
    const auto found = report.scalars.find(scalar.name);
    return found != report.scalars.end() && found->second == scalar.element;
  };
  bool fits = all_of(program.scalars, isKnown) && size_t(count_if(program.tensors, isArgument)) == ofRank;
  for (size_t i = 0; fits && i != report.tensors.size(); ++i)
    fits = isSame(program.tensors[i % ofRank], report.tensors[i]);
  if (fits)
    return {};
  return tlc::Error{ErrorKind::invalidArgument,
                    "expected a report with the tensors of its program, but it has others"};
}

Result<RunPlan> driver::planRun(ReportedKernel reported, const CacheOptions &cache, Findings &findings) {
  Result<CompileOptions> options = reported.options();
  if (!options)
    return options.error();
  const report::Report &report = reported.report();
  EmulatorOptions emulator;
  emulator.target = findTarget(report.target);
  emulator.multiprocessors = int(report.multiprocessors);
  emulator.maximumSteps = report.maximumSteps;
  emulator.raceCheck = report.raceCheck == "strict" ? RaceCheck::strict
                       : report.raceCheck == "on"   ? RaceCheck::on
                                                    : RaceCheck::off;
  const auto open = [emulator, &findings, ranks = unsigned(report.ranks)](std::optional<uint64_t> schedule) {
    EmulatorOptions own = emulator;
    own.onFindings = [&findings](const Findings &found) { findings.add(found); };
    own.scheduleSeed = schedule;
    return Result<ChosenDevice>(
        ChosenDevice{DeviceKind::emulator, createEmulatorDevices(ranks, std::move(own))});
  };
  Result<ChosenDevice> chosen = open(report.scheduleSeed);
  return RunPlan{KernelChoice{std::move(*options), reported.alignment(), reported.request(), cache},
                 std::move(*chosen),
                 {report.scheduleSeed},
                 open,
                 emulator,
                 [reported](const Artifact *program) -> Result<kernels::ProblemOptions> {
                   if (Result<void> fits = checkTensors(reported.report(), *program); !fits)
                     return fits.error();
                   return reported.problem();
                 },
                 reported};
}

Result<std::shared_ptr<const Artifact>> driver::compile(RunPlan &plan, const CompileFlags &flags,
                                                        kernels::CompileLog &log) {
  kernels::Library library(plan.choice.cache);
  Result<std::shared_ptr<const Artifact>> artifact =
      library.compile(plan.choice.request, plan.choice.options, log, plan.chosen.device().properties().code);
  if (!artifact)
    return artifact;
  print(log.diagnostics, Remarks::hide);
  if (flags.wantsRemarks())
    printRemarks(**artifact);
  if (flags.wantsTime())
    printTimes(log.times, log.foundAfter);
  return artifact;
}
