// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `run`.
#include "tools/tlc/Run.h"

#include "compiler/codegen/PtxForms.h"
#include "kernels/harness/KernelRun.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"
#include "tools/tlc/FindingsJson.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Rounds.h"
#include "tools/tlc/Time.h"
#include "tools/tlc/Verdicts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <random>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// What there is to tell about one run.
struct Report {
  const kernels::Request &request;
  const kernels::KernelRun &run;
  const Device &device;
  uint64_t seed;
  std::optional<kernels::Verdict> verdict;
  double milliseconds;
  const Findings &findings;
  std::string error = {};                    ///< why there is no verdict and no time
  std::optional<uint64_t> scheduleSeed = {}; ///< of the emulator, if not the usual one
};

void printText(const Report &report) {
  outs() << report.request.kernel->name();
  for (const auto &[name, value] : report.request.values.values())
    outs() << ' ' << name << '=' << value;
  const size_t ranks = report.run.ranks();
  outs() << "\non " << (ranks == 1 ? "" : formatv("{0} ranks of ", ranks).str())
         << report.device.properties().name << ", " << report.run.variant() << " variant, seed "
         << report.seed << formatv(": {0:f3} ms\n", report.milliseconds);
  if (const auto &verdict = report.verdict)
    printVerdict(outs(), *verdict);
}

void printJson(const Report &report) {
  json::OStream os(outs());
  os.object([&] {
    os.attribute("kernel", StringRef(report.request.kernel->name()));
    os.attributeObject("parameters", [&] {
      for (const auto &[name, value] : report.request.values.values())
        os.attribute(name, value);
    });
    os.attribute("device", report.device.properties().name);
    os.attribute("target", report.run.program().artifact().target);
    os.attribute("variant", report.run.variant());
    os.attribute("seed", report.seed);
    if (report.scheduleSeed)
      os.attribute("schedule_seed", *report.scheduleSeed);
    if (report.error.empty())
      os.attribute("milliseconds", report.milliseconds);
    else
      os.attribute("error", report.error);
    if (const auto &verdict = report.verdict) {
      os.attribute("outputs", formatv("{0:x-16}{1:x-16}", verdict->outputs.high, verdict->outputs.low).str());
      writeVerdict(os, *verdict);
    }
    writeFindings(os, report.findings);
  });
  outs() << '\n';
}

} // namespace

RunCommand::RunCommand()
    : command("run", "Run a kernel once on random inputs"),
      kernel(cl::sub(command), cl::Positional, cl::desc("<kernel | file.cpp>")),
      verify("verify", cl::sub(command),
             cl::desc("Compare the result with the reference; status 1 if it is wrong")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")),
      seed("seed", cl::sub(command), cl::value_desc("number"),
           cl::desc("Seed of the inputs instead of a fresh one")),
      rowPadding("row-padding", cl::sub(command), cl::value_desc("elements"), cl::init(0),
                 cl::desc("Room between the rows of each tensor")),
      offset("offset", cl::sub(command), cl::value_desc("elements"), cl::init(0),
             cl::desc("Room between an aligned address and each tensor")),
      lastStrides("last-stride", cl::sub(command), cl::value_desc("tensor=elements"),
                  cl::desc("From one element of a row to the next, of a tensor with LastStride::any; may be "
                           "repeated")),
      ranks("ranks", cl::sub(command), cl::value_desc("count"),
            cl::desc("Devices that run the kernel together, each with tensors of its own")),
      forms(
          "forms", cl::sub(command), cl::value_desc("file"),
          cl::desc("Add the forms of the kernel's PTX instructions to a file, if the result is right; needs "
                   "--verify")),
      deviceFlags(command), flags(command) {}

namespace {
constexpr int64_t mostRoom = 1 << 20;
} // namespace

Result<kernels::LastStrides> RunCommand::lastStridesFor(const Artifact &program) const {
  const auto invalid = [](const std::string &message) {
    return tlc::Error{ErrorKind::invalidArgument, message};
  };
  kernels::LastStrides strides;
  for (StringRef text : lastStrides) {
    auto [name, value] = text.split('=');
    int64_t stride = 0;
    if (name.empty() || value.getAsInteger(10, stride) || stride < 0 || stride > mostRoom)
      return invalid(formatv("expected --last-stride TENSOR=N with N from 0 to {0}, but got '{1}'", mostRoom,
                             excerpt(text)));
    const auto isNamed = [&](const TensorArgument &tensor) { return tensor.name == name; };
    if (auto found = find_if(program.tensors, isNamed); found == program.tensors.end() || !found->strided) {
      std::vector<std::string> names;
      for (const TensorArgument &tensor : program.tensors)
        if (tensor.strided)
          names.push_back(tensor.name);
      return invalid(
          formatv("expected --last-stride of a tensor that is declared with LastStride::any ({0}), "
                  "but got '{1}'",
                  names.empty() ? "the kernel has none" : join(names, ", "), excerpt(name)));
    }
    if (!strides.try_emplace(name.str(), stride).second)
      return invalid(
          formatv("expected --last-stride of each tensor once, but that of '{0}' is given twice", name));
  }
  return strides;
}

Result<void> RunCommand::checkPlacement(const Artifact &program, const kernels::Request &request) const {
  for (const TensorArgument &tensor : program.tensors) {
    if (tensor.access == Access::workspace || tensor.alignment == 1)
      continue;
    const int64_t step = elementsOf(tensor.element, tensor.alignment);
    for (const cl::opt<int64_t> *room : {&rowPadding, &offset}) {
      if (step <= 1 || *room % step == 0)
        continue;
      const kernels::Kernel &kernel = *request.kernel;
      const auto form = find_if(kernel.parameters(), [](const kernels::Parameter &each) {
        return each.name == "form" && is_contained(each.choices, "plain");
      });
      const bool hasPlain = form != kernel.parameters().end() && request.values.choice("form") != "plain";
      return tlc::Error{
          ErrorKind::invalidArgument,
          formatv("expected --{0} of a multiple of {1} elements because the program declares an "
                  "alignment of {2} bytes for '{3}', but got {4}; {5}",
                  room->ArgStr, step, tensor.alignment, tensor.name, room->getValue(),
                  hasPlain ? "-D form=plain makes a program for any alignment"
                           : "a program for any alignment declares none")
              .str()};
    }
  }
  return {};
}

ExitCode RunCommand::execute() const {
  if (kernel.empty())
    return failUsage("expected a kernel, but got none; 'tlc run --help' shows how");
  if (!forms.empty() && !verify)
    return failUsage("expected --verify because of --forms, which records what ran right");
  kernels::Definitions ranksAsked;
  if (ranks.getNumOccurrences())
    ranksAsked["ranks"] = std::to_string(ranks);
  const Format format = json ? Format::json : Format::text;
  std::vector<Diagnostic> ofFile;
  // Sizes that -D gives need only fit the defaults of the device that runs the kernel.
  Result<KernelChoice> choice =
      flags.choice(kernel, kernels::DefaultSizes::emulator, ranksAsked, json ? &ofFile : nullptr);
  if (!choice)
    return failBy(choice.error(), ofFile, format);
  for (const cl::opt<int64_t> *room : {&rowPadding, &offset})
    if (*room < 0 || *room > mostRoom)
      return failUsage(
          formatv("expected --{0} from 0 to {1}, but got {2}", room->ArgStr, mostRoom, room->getValue())
              .str());
  auto seeds = deviceFlags.scheduleSeeds();
  if (!seeds)
    return failUsage(seeds.error().message);
  Findings findings;
  const Target *emulated = flags.namesTarget() ? findTarget(choice->options.target) : nullptr;
  const int64_t count = choice->request.kernel->ranks(choice->request.values);
  Result<ChosenDevice> chosen = deviceFlags.create(emulated, findings, seeds->front(), count);
  if (!chosen)
    return chosen.error().kind == ErrorKind::invalidArgument ? failUsage(chosen.error().message)
                                                             : fail(chosen.error().message);
  if (seeds->front() && chosen->kind != DeviceKind::emulator)
    return failUsage("expected --device emulator because of --schedule");
  if (chosen->kind == DeviceKind::emulator)
    printEmulatorSizes(choice->request);
  else if (choice = flags.choice(kernel, kernels::DefaultSizes::usual, ranksAsked); !choice)
    return failBy(choice.error(), ofFile, format);
  if (!flags.namesTarget())
    choice->options.target = chosen->device().properties().target;
  const Heartbeat heartbeat(
      [what = "running " + kernel + " on " + chosen->device().properties().name] { return what; });

  kernels::CompileLog log;
  kernels::Library library(std::move(choice->cache));
  Result<std::shared_ptr<const Artifact>> artifact =
      library.compile(choice->request, choice->options, log, chosen->device().properties().code);
  if (!artifact)
    return failCompile(artifact.error(), log.diagnostics, format);
  print(log.diagnostics, Remarks::hide);
  if (flags.wantsRemarks())
    printRemarks(**artifact);
  if (flags.wantsTime())
    printTimes(log.times, log.foundAfter);

  const uint64_t inputSeed = seed.getNumOccurrences() ? seed : std::random_device()();
  Result<kernels::LastStrides> strides = lastStridesFor(**artifact);
  if (!strides)
    return failUsage(strides.error().message);
  if (Result<void> fits = checkPlacement(**artifact, choice->request); !fits)
    return failUsage(fits.error().message);
  auto problem = kernels::Problem::create(
      choice->request,
      {.placement = {rowPadding, offset}, .lastStrides = std::move(*strides), .seed = inputSeed});
  if (!problem)
    return fail(problem.error().message);
  std::optional<kernels::KernelRun> run;
  std::optional<kernels::Verdict> verdict;
  for (const std::optional<uint64_t> &scheduleSeed : *seeds) {
    const std::string how = scheduleSeed ? formatv(" (--schedule seed={0})", *scheduleSeed).str() : "";
    if (scheduleSeed != seeds->front()) {
      run.reset();
      chosen = deviceFlags.create(emulated, findings, scheduleSeed, count);
      if (!chosen)
        return fail(chosen.error().message);
    }
    auto created = kernels::KernelRun::create(chosen->ranks, *problem, *artifact, choice->alignment);
    if (!created)
      return fail(created.error().message);
    run.emplace(std::move(*created));
    const auto failRun = [&](const tlc::Error &error) {
      if (json)
        printJson({choice->request,
                   *run,
                   chosen->device(),
                   inputSeed,
                   {},
                   0,
                   findings,
                   error.message,
                   scheduleSeed});
      return fail(error.message + how);
    };
    if (verify) {
      Result<kernels::Verdict> result = run->verify();
      if (!result)
        return failRun(result.error());
      verdict = *result;
    } else if (Result<void> done = run->execute(); !done) {
      return failRun(done.error());
    }
    if (verdict && !verdict->correct()) {
      Report report{choice->request, *run, chosen->device(), inputSeed, verdict, run->seconds() * 1e3,
                    findings,        {},   scheduleSeed};
      json ? printJson(report) : printText(report);
      printWarnings(findings);
      return fail("wrong result: " + verdict->complaint + how);
    }
  }
  if (!forms.empty()) {
    const auto variant =
        find_if((*artifact)->variants, [&](const Variant &each) { return each.name == run->variant(); });
    if (Result<void> recorded =
            recordForms(forms, chosen->kind == DeviceKind::cuda ? "cuda" : "emulator", formsOf(variant->ptx));
        !recorded)
      return fail(recorded.error().message);
  }
  double milliseconds = run->seconds() * 1e3;
  // The first launch is not representative.
  if (chosen->kind == DeviceKind::cuda) {
    auto times = timeInTurns(chosen->ranks, {[&] { return run->launch(); }},
                             {.rounds = 1, .warmups = 0, .launches = 1});
    if (!times)
      return fail(times.error().message);
    milliseconds = (*times)[0][0] * 1e3;
  }
  Report report{choice->request, *run, chosen->device(), inputSeed, verdict, milliseconds, findings};
  json ? printJson(report) : printText(report);
  printWarnings(findings);
  if (!json && seeds->front())
    outs() << formatv("the same in {0} order{1} of warps and completions\n", seeds->size(),
                      seeds->size() == 1 ? "" : "s");
  return ExitCode::success;
}
