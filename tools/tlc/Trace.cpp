// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `trace`.
#include "tools/tlc/Trace.h"

#include "kernels/harness/KernelRun.h"
#include "runtime/emulator/trace/Export.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"
#include "tools/tlc/Time.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <random>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// "1000:5000".
std::optional<emulator::TraceWindow> parseWindow(StringRef text) {
  const auto [begin, end] = text.split(':');
  emulator::TraceWindow window;
  if (begin.getAsInteger(10, window.begin) || end.getAsInteger(10, window.end) || window.begin >= window.end)
    return std::nullopt;
  return window;
}

} // namespace

TraceCommand::TraceCommand()
    : command("trace", "Show when the warps and engines of a block do what, by a model of their costs"),
      kernel(cl::sub(command), cl::Positional, cl::desc("<kernel | file.cpp>")),
      outputs("o", cl::sub(command), cl::value_desc("file"),
              cl::desc("Timeline to write: .json for ui.perfetto.dev, .svg for a browser; may be repeated")),
      block("block", cl::sub(command), cl::value_desc("number"), cl::init(0),
            cl::desc("Block to show, with the others of its cluster, counted in x, then y, then z")),
      launch("launch", cl::sub(command), cl::value_desc("number"), cl::init(0),
             cl::desc("Launch to show where a program makes several, counted from 0")),
      window("window", cl::sub(command), cl::value_desc("begin:end"),
             cl::desc("Cycles that an .svg shows instead of the beginning and the end")),
      seed("seed", cl::sub(command), cl::value_desc("number"),
           cl::desc("Seed of the inputs instead of a fresh one")),
      emulator(command), flags(command) {}

ExitCode TraceCommand::execute() const {
  if (kernel.empty())
    return failUsage("expected a kernel, but got none; 'tlc trace --help' shows how");
  Result<KernelChoice> choice = flags.choice(kernel);
  if (!choice)
    return failBy(choice.error());
  for (const std::string &output : outputs)
    if (!StringRef(output).ends_with(".json") && !StringRef(output).ends_with(".svg"))
      return failUsage("expected -o to name a file that ends in .json or .svg, but got '" + excerpt(output) +
                       "'");
    else if (Result<void> writable = checkOutput(output); !writable)
      return fail(writable.error().message);
  std::optional<tlc::emulator::TraceWindow> shown;
  if (window.getNumOccurrences()) {
    shown = parseWindow(window);
    if (!shown)
      return failUsage("expected --window of two numbers of cycles like 1000:5000, but got '" +
                       excerpt(window) + "'");
  }
  if (shown && none_of(outputs, [](StringRef output) { return output.ends_with(".svg"); }))
    return failUsage("expected -o with a file that ends in .svg because of --window, but got none");
  Result<EmulatorOptions> emulatorOptions = emulator.options();
  if (!emulatorOptions)
    return failUsage(emulatorOptions.error().message);

  TraceRequest traced{.block = block, .launch = launch, .trace = {}};
  emulatorOptions->target = flags.namesTarget() ? findTarget(choice->options.target) : nullptr;
  emulatorOptions->trace = &traced;
  const std::unique_ptr<Device> device = createEmulatorDevice(std::move(*emulatorOptions));
  choice->options.target = device->properties().target;
  const Heartbeat heartbeat([what = "tracing " + kernel] { return what; });
  kernels::CompileLog log;
  Result<std::shared_ptr<const Artifact>> artifact =
      kernels::Library().compile(choice->request, choice->options, log);
  if (!artifact)
    return failCompile(artifact.error(), log.diagnostics);
  print(log.diagnostics, Remarks::hide);
  if (flags.wantsRemarks())
    printRemarks(**artifact);
  if (flags.wantsTime())
    printTimes(log.times);

  Result<kernels::KernelRun> run =
      kernels::KernelRun::create(*device, choice->request, *artifact,
                                 {.placement = {},
                                  .seed = seed.getNumOccurrences() ? seed : std::random_device()(),
                                  .derived = kernels::DerivedInputs::random, // nothing is compared
                                  .alignment = choice->alignment});
  if (!run)
    return fail(run.error().message);
  if (Result<void> done = run->execute(); !done)
    return fail(done.error().message);

  if (shown && shown->begin >= traced.trace.cycles)
    return failUsage("expected --window to begin before the end, at cycle " +
                     std::to_string(traced.trace.cycles) + ", but got '" + excerpt(window) + "'");
  const tlc::emulator::TraceSummary summary = summarise(traced.trace);
  for (const std::string &output : outputs) {
    const std::string text = StringRef(output).ends_with(".json") ? toChromeJson(traced.trace, summary)
                                                                  : toSvg(traced.trace, summary, shown);
    if (Result<void> written = writeOutput(output, text); !written)
      return fail(written.error().message);
  }
  outs() << summaryText(traced.trace, summary);
  return ExitCode::success;
}
