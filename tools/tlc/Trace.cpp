// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `trace`.
#include "tools/tlc/Trace.h"

#include "kernels/harness/KernelRun.h"
#include "runtime/emulator/trace/Export.h"
#include "runtime/emulator/trace/TraceRequest.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"
#include "tools/tlc/Time.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
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

void printJson(const tlc::emulator::Trace &trace, const tlc::emulator::TraceSummary &summary) {
  json::OStream os(outs());
  const auto list = [&](StringRef name, const auto &values) {
    os.attributeArray(name, [&] {
      for (const auto &value : values)
        os.value(uint64_t(value));
    });
  };
  const auto cyclesOf = [&](StringRef name, const auto &values) {
    os.attributeArray(name, [&] {
      for (const auto &[what, cycles] : values)
        os.object([&] {
          os.attribute("name", json::fixUTF8(what));
          os.attribute("cycles", uint64_t(cycles));
        });
    });
  };
  os.object([&] {
    os.attribute("kernel", json::fixUTF8(trace.kernel));
    os.attribute("target", trace.target);
    list("block", trace.block);
    list("grid", trace.grid);
    list("threads", trace.threads);
    os.attribute("cycles", uint64_t(trace.cycles));
    os.attribute("microseconds", microseconds(trace, trace.cycles));
    os.attribute("floor_cycles", uint64_t(floorCycles(trace, summary)));
    os.attribute("product_cycles", summary.productCycles);
    if (summary.phases)
      list("phases", *summary.phases);
    os.attribute("bytes_in", summary.bytesIn);
    os.attribute("bytes_out", summary.bytesOut);
    cyclesOf("idle_causes", summary.idleCauses);
    os.attributeArray("lanes", [&] {
      for (const tlc::emulator::LaneSummary &lane : summary.lanes)
        os.object([&] {
          os.attribute("block", uint64_t(lane.lane.block));
          os.attribute("name", json::fixUTF8(lane.lane.name));
          os.attribute("warps", uint64_t(lane.lane.tracks.size()));
          os.attribute("run", lane.run);
          os.attribute("stall", lane.stall);
          os.attribute("done", lane.done);
          cyclesOf("waits", lane.waits);
          cyclesOf("lines", lane.lines);
        });
    });
  });
  outs() << '\n';
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
      json("json", cl::sub(command), cl::desc("Summary as one JSON object")), emulator(command),
      flags(command) {}

ExitCode TraceCommand::execute() const {
  if (kernel.empty())
    return failUsage("expected a kernel, but got none; 'tlc trace --help' shows how");
  const Format format = json ? Format::json : Format::text;
  std::vector<Diagnostic> ofFile;
  Result<KernelChoice> choice =
      flags.choice(kernel, kernels::DefaultSizes::usual, {}, json ? &ofFile : nullptr);
  if (!choice)
    return failBy(choice.error(), ofFile, format);
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
  if (emulatorOptions->target && !emulator.namesMultiprocessors())
    emulatorOptions->multiprocessors = emulatorOptions->target->multiprocessors;
  emulatorOptions->trace = &traced;
  const std::unique_ptr<Device> device = createEmulatorDevice(std::move(*emulatorOptions));
  choice->options.target = device->properties().target;
  const Heartbeat heartbeat([what = "tracing " + kernel] { return what; });
  kernels::CompileLog log;
  Result<std::shared_ptr<const Artifact>> artifact =
      kernels::Library(std::move(choice->cache))
          .compile(choice->request, choice->options, log, device->properties().code);
  if (!artifact)
    return failCompile(artifact.error(), log.diagnostics, format);
  print(log.diagnostics, Remarks::hide);
  if (flags.wantsRemarks())
    printRemarks(**artifact);
  if (flags.wantsTime())
    printTimes(log.times, log.foundAfter);

  Result<kernels::KernelRun> run =
      kernels::KernelRun::create(*device, choice->request, *artifact,
                                 {.placement = {},
                                  .seed = seed.getNumOccurrences() ? seed : std::random_device()(),
                                  .derived = kernels::DerivedInputs::random}, // nothing is compared
                                 choice->alignment);
  if (!run)
    return fail(run.error().message);
  if (Result<void> done = run->execute(); !done)
    return fail(done.error().message);

  if (shown && shown->begin >= traced.trace.cycles)
    return failUsage("expected --window to begin before the end, at cycle " +
                     std::to_string(traced.trace.cycles) + ", but got '" + excerpt(window) + "'");
  const tlc::emulator::TraceSummary summary = summarise(traced.trace);
  const tlc::emulator::Timeline timelines[] = {{traced.trace, summary}};
  for (const std::string &output : outputs) {
    const std::string text =
        StringRef(output).ends_with(".json") ? toChromeJson(timelines) : toSvg(timelines, shown);
    if (Result<void> written = writeOutput(output, text); !written)
      return fail(written.error().message);
  }
  if (json)
    printJson(traced.trace, summary);
  else
    outs() << summaryText(traced.trace, summary);
  return ExitCode::success;
}
