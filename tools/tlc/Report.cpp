// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `report`.
#include "tools/tlc/Report.h"

#include "dialects/tile/Tile.h"
#include "kernels/cookbook/Cookbook.h"
#include "kernels/harness/KernelRun.h"
#include "runtime/cache/BuildId.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/FindingsJson.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Output.h"
#include "tools/tlc/ReportRun.h"
#include "tools/tlc/RunResult.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

tlc::Error invalid(const Twine &message) { return {ErrorKind::invalidArgument, message.str()}; }

StringRef nameOf(RaceCheck check) {
  return check == RaceCheck::strict ? "strict" : check == RaceCheck::on ? "on" : "off";
}

/// Functions in CUDA C++ may be compiled with folders, which no report has.
Result<void> checkFolders(mlir::ModuleOp module) {
  std::optional<std::string> wrong;
  module.walk([&](tile::CudaOp cuda) {
    for (mlir::Attribute option : cuda.getOptions().value_or(mlir::ArrayAttr()))
      if (StringRef text = cast<mlir::StringAttr>(option).getValue(); text.contains('/'))
        wrong = ("expected functions in CUDA C++ without folders among their options because a report has no "
                 "paths, "
                 "but '" +
                 cuda.getFunction() + "' has '" + excerpt(text) + "'; include nothing of these folders")
                    .str();
  });
  return wrong ? Result<void>(invalid(*wrong)) : Result<void>();
}

std::string jsonOf(const Findings &findings) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream os(stream);
  os.object([&] { writeFindings(os, findings); });
  return text;
}

/// Writes all of a report; `bytes` are its file's.
void printWhole(const report::Report &report, size_t bytes) {
  json::OStream os(outs(), 2);
  os.object([&] {
    os.attribute("bytes", uint64_t(bytes));
    os.attribute("version", json::fixUTF8(report.version));
    os.attribute("llvm", json::fixUTF8(report.llvm));
    os.attribute("build", json::fixUTF8(report.build));
    os.attribute("kernel", json::fixUTF8(report.kernel));
    os.attributeObject("parameters", [&] {
      for (const auto &[name, value] : report.parameters)
        os.attribute(json::fixUTF8(name), json::fixUTF8(value));
    });
    os.attribute("target", json::fixUTF8(report.target));
    os.attributeArray("disabled", [&] {
      for (const std::string &name : report.disabled)
        os.value(json::fixUTF8(name));
    });
    os.attribute("strategy", json::fixUTF8(report.strategy));
    os.attribute("bounded_waits_ns", report.waitLimit);
    os.attribute("multicast", report.multicast);
    os.attribute("variant", json::fixUTF8(report.variant));
    os.attribute("device", json::fixUTF8(report.device));
    os.attribute("ranks", report.ranks);
    os.attribute("multiprocessors", report.multiprocessors);
    os.attribute("race_check", json::fixUTF8(report.raceCheck));
    os.attribute("max_steps", report.maximumSteps);
    if (report.scheduleSeed)
      os.attribute("schedule_seed", *report.scheduleSeed);
    os.attribute("seed", report.seed);
    os.attribute("row_padding", report.rowPadding);
    os.attribute("offset", report.offset);
    os.attributeArray("tensors", [&] {
      for (const report::Tensor &tensor : report.tensors)
        os.object([&] {
          os.attribute("name", json::fixUTF8(tensor.name));
          os.attribute("type", StringRef(toString(tensor.element)));
          os.attributeArray("shape", [&] {
            for (int64_t extent : tensor.shape)
              os.value(extent);
          });
          os.attribute("access", tensor.access == Access::input    ? "input"
                                 : tensor.access == Access::output ? "output"
                                                                   : "inout");
          os.attribute("content_bytes", uint64_t(tensor.contents.size()));
        });
    });
    os.attribute("outcome", report.outcome == report::Outcome::ran      ? "ran"
                            : report.outcome == report::Outcome::failed ? "failed"
                                                                        : "unfinished");
    os.attribute("error", json::fixUTF8(report.error));
    os.attribute("outputs", json::fixUTF8(report.digest));
    os.attribute("complaint", json::fixUTF8(report.complaint));
    if (Expected<json::Value> findings = json::parse(report.findings))
      os.attribute("emulator", *findings);
    else
      consumeError(findings.takeError());
    os.attribute("module", json::fixUTF8(report.module));
  });
  outs() << '\n';
}

} // namespace

ReportCommand::ReportCommand()
    : command("report", "Run a kernel, and write all that it takes to run it again elsewhere into one file"),
      kernel(cl::sub(command), cl::Positional, cl::desc("<kernel | file.cpp | report.tlc>")),
      output("o", cl::sub(command), cl::value_desc("file.tlc"),
             cl::desc("File to write; without it a report is printed as JSON")),
      verify("verify", cl::sub(command),
             cl::desc("Compare the result with the reference, and report what is wrong")),
      problemFlags(command), deviceFlags(command), tuning(command), flags(command) {}

ExitCode ReportCommand::show() const {
  if (Result<void> free = checkFree(command, kernel); !free)
    return failUsage(free.error().message);
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(kernel, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return failUsage("cannot read '" + excerpt(kernel) + "': " + buffer.getError().message());
  Result<report::Report> report = report::read((*buffer)->getBuffer(), kernel.getValue());
  if (!report)
    return failBy(report.error());
  printWhole(*report, (*buffer)->getBufferSize());
  return ExitCode::success;
}

Result<report::Report> ReportCommand::reportOf(const RunPlan &plan, mlir::ModuleOp module,
                                               const kernels::InitialTensors &initial,
                                               const kernels::ProblemOptions &options) const {
  if (Result<void> plain = checkFolders(module); !plain)
    return plain.error();
  Result<EmulatorOptions> emulator = deviceFlags.emulatorOptions();
  if (!emulator)
    return emulator.error();
  const auto &[kernel, values, fixed, ofEmulator, given] = plan.choice.request;
  const CompileOptions &compiled = plan.choice.options;
  const DeviceProperties &device = plan.chosen.device().properties();
  const Result<const kernels::Kernel *> shipped = kernels::findShippedKernel(kernel->name());
  report::Report report;
  report.version = ownVersion();
  report.llvm = llvmVersion();
  report.build = buildIdOf(reinterpret_cast<const void *>(&driver::ownVersion));
  report.kernel = kernel->name();
  report.summary = kernel->summary();
  report.isShipped = shipped && *shipped == kernel;
  for (const auto &[name, value] : values.values())
    report.parameters[name] = value;
  for (const kernels::Parameter &parameter : kernel->parameters())
    if (parameter.isScalar())
      report.scalars[parameter.name] = parameter.element;
  report.module = textWithoutPaths(module);
  report.target = compiled.target;
  for (const OptimizationSwitch &each : optimizationSwitches())
    if (!(compiled.optimizations.*each.member))
      report.disabled.emplace_back(each.name);
  report.strategy = compiled.optimizations.strategy;
  report.waitLimit = compiled.waitLimit.count();
  report.multicast = compiled.multicast;
  if (plan.choice.alignment)
    report.variant = *plan.choice.alignment == Alignment::aligned ? "aligned" : "general";
  report.device = device.name;
  report.isEmulated = plan.chosen.kind == DeviceKind::emulator;
  report.multiprocessors = device.multiprocessors;
  report.raceCheck = nameOf(emulator->raceCheck);
  report.maximumSteps = emulator->maximumSteps;
  report.seed = options.seed;
  report.ranks = kernel->ranks(values);
  report.rowPadding = options.placement.rowPadding;
  report.offset = options.placement.offset;
  report.lastStrides = options.lastStrides;
  report.tensors = reportedTensors(initial);
  for (const report::Tensor &tensor : report.tensors)
    if (tensor.access != Access::input)
      report.tolerances.push_back(kernel->tolerance(values, report.tolerances.size()));
  report.flops = kernel->flops(values);
  return report;
}

Result<void> ReportCommand::run(RunPlan &plan, const std::shared_ptr<const kernels::Problem> &problem,
                                const Findings &findings, report::Report &report) const {
  const auto failed = [&](const tlc::Error &error) -> Result<void> {
    if (error.kind == ErrorKind::environment)
      return error;
    report.outcome = report::Outcome::failed;
    report.error = error.message;
    report.findings = jsonOf(findings);
    return {};
  };
  kernels::CompileLog log;
  Result<std::shared_ptr<const Artifact>> artifact = compile(plan, flags, log);
  if (!artifact) {
    print(log.diagnostics, Remarks::hide);
    return failed(artifact.error());
  }
  if (Result<kernels::ProblemOptions> fits = plan.problem(artifact->get()); !fits)
    return fits.error();
  for (const std::optional<uint64_t> &schedule : plan.schedules) {
    if (schedule != plan.schedules.front()) {
      Result<ChosenDevice> other = plan.open(schedule);
      if (!other)
        return other.error();
      plan.chosen = std::move(*other);
    }
    report.scheduleSeed = schedule;
    auto run = kernels::KernelRun::create(plan.chosen.ranks, problem, *artifact, plan.choice.alignment);
    if (!run)
      return failed(run.error());
    if (Result<void> done = run->execute(); !done)
      return failed(done.error());
    Result<std::vector<kernels::HostTensor>> outputs = run->outputs();
    if (!outputs)
      return outputs.error();
    report.outcome = report::Outcome::ran;
    report.digest = digitsOf(kernels::digestOf(*outputs));
    report.findings = jsonOf(findings);
    if (!verify)
      continue;
    Result<kernels::Verdict> verdict = problem->compare(*outputs);
    if (!verdict)
      return verdict.error();
    report.complaint = verdict->complaint;
    if (!verdict->correct())
      break;
  }
  return {};
}

ExitCode ReportCommand::execute() const {
  if (kernel.empty())
    return failUsage("expected a kernel, but got none; 'tlc report --help' shows how");
  if (namesReport(kernel))
    return output.empty() ? show()
                          : failUsage("expected no -o because '" + excerpt(kernel) + "' is a report");
  if (!namesReport(output))
    return failUsage("expected -o FILE.tlc for the report, but got '" + excerpt(output) + "'");
  if (Result<void> writable = checkOutput(output); !writable)
    return fail(writable.error().message);
  Findings findings;
  std::variant<RunPlan, ExitCode> planned =
      planRun(kernel, {flags, deviceFlags, problemFlags, tuning}, findings, Format::text);
  if (const ExitCode *code = std::get_if<ExitCode>(&planned))
    return *code;
  RunPlan &plan = *std::get_if<RunPlan>(&planned);
  const Heartbeat heartbeat([what = "reporting " + kernel] { return what; });
  kernels::CompileLog log;
  Result<dsl::ProgramModule> traced =
      kernels::trace(plan.choice.request, *findTarget(plan.choice.options.target), log);
  if (!traced)
    return failCompile(traced.error(), log.diagnostics, Format::text);
  Result<kernels::ProblemOptions> options = plan.problem(nullptr);
  if (!options)
    return failUsage(options.error().message);
  auto problem = kernels::Problem::create(plan.choice.request, *options);
  if (!problem)
    return fail(problem.error().message);
  Result<report::Report> made = reportOf(plan, *traced->module, (*problem)->initial(), *options);
  if (!made)
    return failBy(made.error());
  report::Report &report = *made;
  // A crash of the compiler leaves a report that says so.
  size_t bytes = 0;
  const auto write = [&]() -> Result<void> {
    Result<std::string> file = report::write(report);
    if (!file)
      return file.error();
    bytes = file->size();
    return writeOutput(output, *file);
  };
  if (Result<void> written = write(); !written)
    return failBy(written.error());
  const Result<ReportedKernel> reported = ReportedKernel::create(report);
  if (!reported)
    return failBy(reported.error());
  plan.choice.request = reported->request(); // what the file has is compiled
  Result<void> done = run(plan, *problem, findings, report);
  if (done)
    done = write();
  if (!done) {
    (void)sys::fs::remove(output);
    return failBy(done.error());
  }
  const StringRef error = StringRef(report.error).split('\n').first;
  outs() << formatv("{0}: {1} bytes, seed {2}; ", output.getValue(), bytes, report.seed);
  if (report.outcome == report::Outcome::failed)
    outs() << "failed: " << error << '\n';
  else if (!report.complaint.empty())
    outs() << "wrong result: " << report.complaint << '\n';
  else
    outs() << "outputs " << report.digest << '\n';
  return ExitCode::success;
}
