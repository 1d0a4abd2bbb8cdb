// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `emulate`.
#include "tools/tlc/Emulate.h"

#include "kernels/file/UserFile.h"
#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/CodeTarget.h"
#include "runtime/target/Target.h"
#include "tools/emulate/Arguments.h"
#include "tools/mutate/FileTrial.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/FindingsJson.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <limits>
#include <random>
#include <thread>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

using Extents = std::array<uint32_t, 3>;

tlc::Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// "X", "X,Y" or "X,Y,Z".
Result<Extents> parseExtents(StringRef flag, StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  Extents extents = {1, 1, 1};
  bool valid = parts.size() <= extents.size();
  for (size_t i = 0; valid && i < parts.size(); ++i)
    valid = !parts[i].getAsInteger(10, extents[i]);
  if (!valid)
    return invalid(("expected --" + flag + " X, X,Y or X,Y,Z, but got '" + excerpt(text) + "'").str());
  return extents;
}

Result<const emulator::Kernel *> chooseEntry(const emulator::Program &program, StringRef name) {
  std::string names;
  for (const auto &[known, kernel] : program.kernels) {
    if (name == known || (name.empty() && program.kernels.size() == 1))
      return static_cast<const emulator::Kernel *>(kernel.get());
    names += (names.empty() ? "" : ", ") + known;
  }
  if (names.empty())
    return invalid("the file has no entry");
  return invalid("expected --entry to be one of " + excerpt(names) +
                 (name.empty() ? "" : ", but got '" + excerpt(name) + "'"));
}

Result<const Target *> chooseTarget(StringRef asked, StringRef ofModule) {
  if (!asked.empty()) {
    if (const Target *target = findTarget(asked))
      return target;
    return unknownTarget("--target", asked);
  }
  // The oldest device that runs the code.
  if (const auto code = parseCodeTarget(ofModule))
    for (const Target &target : allTargets())
      if (code->runsOn(target.computeMajor, target.computeMinor))
        return findTargetForDevice(target.computeMajor, target.computeMinor);
  return invalid(
      ("the file is for " + ofModule + ", but the emulator stands for " + tlc::targetNames()).str());
}

/// "all", or a number of elements.
Result<size_t> parseShown(StringRef text) {
  size_t count = std::numeric_limits<size_t>::max();
  if (text != "all" && text.getAsInteger(10, count))
    return invalid("expected --print to be all or a number of elements, but got '" + excerpt(text) + "'");
  return count;
}

/// What there is to tell about a launch.
struct Report {
  const emulator::Kernel &kernel;
  const Target &target;
  const emulator::LaunchConfiguration &launch;
  const emulate::Arguments &arguments;
  uint64_t seed;
  double milliseconds;
  const Result<tlc::emulator::LaunchStatistics> &outcome;
  const Findings &findings;
  std::optional<uint64_t> scheduleSeed;
  size_t shownElements; ///< of an array
};

std::string text(const Extents &extents) {
  return formatv("({0}, {1}, {2})", extents[0], extents[1], extents[2]).str();
}

void printText(const Report &report) {
  outs() << report.kernel.name << " on the emulator of " << report.target.name << ", grid "
         << text(report.launch.grid) << ", blocks " << text(report.launch.block) << ", seed " << report.seed
         << formatv(": {0} instructions of warps in {1:f3} ms\n", report.outcome->warpInstructions,
                    report.milliseconds);
  for (const emulate::Array &array : report.arguments.arrays()) {
    if (array.writeTo.empty() && !array.isOutput)
      continue;
    outs() << array.name << ": " << emulator::toString(array.type) << ' ' << emulate::shapeText(array.shape);
    if (!array.writeTo.empty())
      outs() << " to " << array.writeTo;
    outs() << ':';
    for (size_t i = 0; i < std::min(array.count(), report.shownElements); ++i)
      outs() << ' ' << array.elementText(i);
    outs() << (array.count() > report.shownElements ? " ...\n" : "\n");
  }
}

void printJson(const Report &report) {
  const auto list = [](json::OStream &os, const auto &values) {
    for (auto value : values)
      os.value(int64_t(value));
  };
  json::OStream os(outs());
  os.object([&] {
    os.attribute("entry", report.kernel.name);
    os.attribute("target", StringRef(report.target.name));
    os.attributeArray("grid", [&] { list(os, report.launch.grid); });
    os.attributeArray("block", [&] { list(os, report.launch.block); });
    os.attribute("seed", report.seed);
    if (report.scheduleSeed)
      os.attribute("schedule_seed", *report.scheduleSeed);
    os.attribute("milliseconds", report.milliseconds);
    os.attributeArray("arrays", [&] {
      for (const emulate::Array &array : report.arguments.arrays())
        os.object([&] {
          os.attribute("name", array.name);
          os.attribute("type", StringRef(emulator::toString(array.type)));
          os.attributeArray("shape", [&] { list(os, array.shape); });
          if (!array.writeTo.empty())
            os.attribute("file", array.writeTo);
        });
    });
    if (report.outcome)
      os.attribute("warp_instructions", report.outcome->warpInstructions);
    else
      os.attribute("error", json::fixUTF8(report.outcome.error().message));
    writeFindings(os, report.findings);
  });
  outs() << '\n';
}

} // namespace

EmulateCommand::EmulateCommand()
    : command("emulate", "Run a kernel of a PTX file on the emulator, with all its checks"),
      source(cl::sub(command), cl::Positional, cl::value_desc("file.ptx"), cl::desc("<file.ptx | ->")),
      entry("entry", cl::sub(command), cl::value_desc("name"),
            cl::desc("Kernel to launch; may be left out where the file has one")),
      grid("grid", cl::sub(command), cl::value_desc("X[,Y[,Z]]"), cl::init("1"), cl::desc("Blocks")),
      block("block", cl::sub(command), cl::value_desc("X[,Y[,Z]]"), cl::init("1"),
            cl::desc("Threads of a block")),
      cluster("cluster", cl::sub(command), cl::value_desc("X[,Y[,Z]]"), cl::init("1"),
              cl::desc("Blocks of a cluster; otherwise what the kernel requires")),
      sharedBytes("shared", cl::sub(command), cl::value_desc("bytes"), cl::init(0),
                  cl::desc("Dynamic shared memory of a block")),
      cooperative("cooperative", cl::sub(command),
                  cl::desc("Run all blocks at the same time, so that they may wait for each other")),
      target("target", cl::sub(command), cl::value_desc("sm"),
             cl::desc("Device to stand for, such as sm_90a; otherwise by the file's .target")),
      arguments("arg", cl::sub(command), cl::value_desc("argument"),
                cl::desc("An argument of the kernel, in its order: in:x.npy, random:f16:128x64, "
                         "out:f32:64:y.npy, i32:5, tensormap:NAME:box=64x64, ...")),
      arrays("array", cl::sub(command), cl::value_desc("name=array"),
             cl::desc("An array that arguments refer to")),
      seed("seed", cl::sub(command), cl::value_desc("number"),
           cl::desc("Seed of random arrays instead of a fresh one")),
      shown("print", cl::sub(command), cl::value_desc("all|count"), cl::init("8"),
            cl::desc("Elements to print of each output")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")),
      mutate("mutate", cl::sub(command),
             cl::desc("Take each synchronisation of the file away, in turn, and see whether that is found")),
      survey(command), emulator(command), schedule(command) {}

ExitCode EmulateCommand::execute() const {
  if (source.empty())
    return failUsage("expected a .ptx file, but got none; 'tlc emulate --help' shows how");
  if (kernels::FileKernelName::parse(source))
    return failUsage("expected a .ptx file, but got the file of kernels '" + excerpt(source) +
                     "'; 'tlc run' runs its kernels");
  const auto failWith = [](const tlc::Error &error) {
    return error.kind == ErrorKind::invalidArgument ? failUsage(error.message) : fail(error.message);
  };
  Result<EmulatorOptions> options = emulator.options();
  if (!options)
    return failWith(options.error());
  auto spec = emulate::parseLaunch({arrays.begin(), arrays.end()}, {arguments.begin(), arguments.end()});
  if (!spec)
    return failWith(spec.error());
  tlc::emulator::LaunchConfiguration launch;
  for (auto [flag, extents] :
       {std::pair(&grid, &launch.grid), {&block, &launch.block}, {&cluster, &launch.cluster}}) {
    auto parsed = parseExtents(flag->ArgStr, flag->getValue());
    if (!parsed)
      return failWith(parsed.error());
    *extents = *parsed;
  }
  launch.dynamicSharedBytes = sharedBytes;
  launch.cooperative = cooperative;
  for (const emulate::ArraySpec &array : spec->arrays)
    if (!array.writeTo.empty())
      if (Result<void> writable = checkOutput(array.writeTo); !writable)
        return fail(writable.error().message);

  Result<std::string> ptx = readTextFile(source);
  if (!ptx)
    return failUsage(ptx.error().message);
  auto program = tlc::emulator::loadProgram(*ptx);
  if (!program)
    return fail("'" + excerpt(source) + "': " + program.error().message);
  auto kernel = chooseEntry(**program, entry);
  if (!kernel)
    return failWith(kernel.error());
  auto device = chooseTarget(target, (*program)->module.target);
  if (!device)
    return failWith(device.error());
  launch.entry = (*kernel)->name;
  auto seeds = schedule.seeds();
  if (!seeds)
    return failWith(seeds.error());
  auto shown = parseShown(this->shown);
  if (!shown)
    return failWith(shown.error());
  const uint64_t usedSeed = seed.getNumOccurrences() ? seed : std::random_device()();
  tlc::emulator::Machine machine;
  machine.target = *device;
  machine.multiprocessors = options->multiprocessors;
  machine.maximumSteps = options->maximumSteps;
  machine.makeObserver = emulator::observeRaces(options->raceCheck);
  machine.failsBy = emulator::failsBy(options->raceCheck);
  machine.onProgress = [](const tlc::emulator::LaunchProgress &progress) {
    errs() << formatv("tlc: {0} of {1} blocks are done after {2:f0} s, {3} instructions of warps\n",
                      progress.blocksDone, progress.blocks, progress.seconds, progress.warpInstructions);
  };
  if (mutate) {
    if (auto valid = survey.check(); !valid)
      return failWith(valid.error());
    auto equivalents = survey.equivalents();
    if (!equivalents)
      return failWith(equivalents.error());
    auto trial = tlc::mutate::FileTrial::create({launch, machine, *spec, usedSeed, *seeds}, *ptx);
    if (!trial)
      return failWith(trial.error());
    if (!json)
      outs() << "seed " << usedSeed << '\n';
    json::Array report;
    auto tally = survey.run(
        {launch.entry, {}}, *ptx, [&](const std::string &text) { return trial->run(text); }, *equivalents,
        json ? &report : nullptr);
    if (!tally)
      return failWith(tally.error());
    if (json)
      tally->printJson(usedSeed, std::move(report));
    return tally->wrong == 0 ? ExitCode::success : ExitCode::failure;
  }

  std::optional<emulate::Arguments> first;
  Findings all;
  for (const std::optional<uint64_t> &scheduleSeed : *seeds) {
    const std::string how = scheduleSeed ? formatv(" (--schedule seed={0})", *scheduleSeed).str() : "";
    if (first) // variables of the module have the values of the launch before
      program = tlc::emulator::loadProgram(*ptx);
    auto made = emulate::Arguments::create(*spec, usedSeed);
    if (!made)
      return failWith(made.error());
    const tlc::emulator::Kernel &code = *(*program)->kernels.find(launch.entry)->second;
    auto parameters = made->parametersOf(code);
    if (!parameters)
      return failWith(parameters.error());
    launch.parameters = *parameters;
    const std::vector<tlc::emulator::NamedTensor> tensors = made->tensors();
    launch.tensors = tensors;
    std::vector<tlc::emulator::MemoryRange> ranges = made->ranges();
    ranges.insert(ranges.end(), (*program)->ranges.begin(), (*program)->ranges.end());
    Findings findings;
    machine.findings = &findings;
    machine.hostThreads = std::max(1u, std::thread::hardware_concurrency());
    machine.scheduleSeed = scheduleSeed;
    const auto begin = std::chrono::steady_clock::now();
    Result<tlc::emulator::LaunchStatistics> outcome = runGrid(
        **program, launch, tlc::emulator::MemoryMap(std::move(ranges), made->multicastRanges()), machine);
    const double milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (outcome && first)
      if (auto difference = emulate::findDifference(*first, *made))
        outcome = tlc::Error{ErrorKind::execution, *difference};
    all.add(findings);
    const bool isLast = scheduleSeed == seeds->back();
    const Report report{code,         **device, launch,   *made,        usedSeed,
                        milliseconds, outcome,  findings, scheduleSeed, *shown};
    if (json && (isLast || !outcome))
      printJson(report);
    if (!outcome) {
      tlc::Error error = outcome.error();
      error.message += how;
      return failWith(error);
    }
    if (!json && isLast)
      printText(report);
    if (!first)
      first = std::move(*made);
  }
  printWarnings(all);
  if (!json && seeds->size() > 1)
    outs() << formatv("the same in {0} orders of warps and completions\n", seeds->size());
  if (auto saved = first->save(); !saved)
    return fail(saved.error().message);
  return ExitCode::success;
}
