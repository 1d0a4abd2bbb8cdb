// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `profile`.
#include "tools/tlc/Profile.h"

#include "compiler/codegen/Ptxas.h"
#include "kernels/harness/KernelRun.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/trace/Export.h"
#include "runtime/emulator/trace/Measured.h"
#include "runtime/emulator/trace/TraceRequest.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Occupancy.h"
#include "tools/tlc/Counters.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/InstructionMix.h"
#include "tools/tlc/Output.h"
#include "tools/tlc/Roofline.h"
#include "tools/tlc/Rounds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <random>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

using Program = std::shared_ptr<const Artifact>;

tlc::Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// What a kernel takes of a multiprocessor.
struct Resources {
  unsigned registers = 0;                 ///< per thread; 0: not known
  std::optional<unsigned> spilledBytes{}; ///< per thread
  unsigned blocks = 0;                    ///< that share a multiprocessor
};

/// One launch of a program, run once.
struct Ran {
  size_t variant = 0, launch = 0;
  std::vector<std::byte> buffer = {}; ///< of a profiled program
};

struct Profile {
  std::string kernel, device;
  emulator::Trace modelled, measured;
  std::vector<BlockProfile> blocks = {};
  std::optional<kernels::Verdict> verdict = {};        ///< of a GPU
  std::vector<double> plainSeconds = {}, seconds = {}; ///< of a GPU, by round
  Resources plain = {}, profiled = {};
  Roofline roofline = {};
  std::vector<Counter> counters = {};
  std::string whyNoCounters = {};

  uint64_t recorded() const {
    uint64_t count = 0;
    for (const BlockProfile &block : blocks)
      for (const WarpProfile &warp : block.warps)
        count += warp.records.size();
    return count;
  }
  uint64_t lost() const {
    uint64_t count = 0;
    for (const BlockProfile &block : blocks)
      for (const WarpProfile &warp : block.warps)
        count += warp.lost;
    return count;
  }
  /// The median of the ratios in each round, less 1.
  double slowdown() const {
    std::vector<double> ratios;
    for (auto [with, without] : zip(seconds, plainSeconds))
      ratios.push_back(with / without);
    return median(ratios) - 1;
  }
};

Result<size_t> variantOf(const Artifact &artifact, const std::string &name) {
  const auto found = find_if(artifact.variants, [&](const Variant &each) { return each.name == name; });
  if (found == artifact.variants.end())
    return tlc::Error{.message = "'" + artifact.name + "' has no variant '" + name + "'"};
  return size_t(found - artifact.variants.begin());
}

/// Everything about one profile.
class Profiler {
public:
  Profiler(KernelChoice &choice, ChosenDevice &chosen, EmulatorOptions model, Profiling profiling,
           RoundOptions rounds, uint64_t seed, bool wantsCounters)
      : choice(choice), chosen(chosen), model(std::move(model)), profiling(profiling),
        planned(profiling.launch), rounds(rounds), seed(seed), wantsCounters(wantsCounters),
        library(choice.cache) {}

  /// Compiler's diagnostics are in `log`.
  Result<Profile> run() {
    Result<Program> plain = compile({});
    if (!plain)
      return plain.error();
    Profile profile;
    profile.kernel = choice.request.kernel->name();
    profile.device = chosen.device().properties().name;
    Result<Ran> ran = traceOnModel(*plain, profile.modelled);
    if (!ran)
      return ran.error();
    const size_t number = ran->launch;
    profiling.launch = unsigned(number);
    Result<Program> profiled = compile(profiling);
    if (!profiled)
      return profiled.error();
    const bool onGpu = chosen.kind == DeviceKind::cuda;
    emulator::Trace ignored;
    ran = onGpu ? timeOnGpu(*plain, *profiled, profile) : traceOnModel(*profiled, ignored);
    if (!ran)
      return ran.error();
    if (profile.verdict && !profile.verdict->correct())
      return profile;

    const Variant &variant = (*profiled)->variants[ran->variant];
    const Launch &launch = variant.launches[number];
    Result<std::vector<BlockProfile>> read = readProfile(launch, ran->buffer);
    if (!read)
      return read.error();
    profile.blocks = std::move(*read);
    std::optional<double> clock;
    if (onGpu)
      clock = emulator::clockGhzOf(profile.blocks);
    profile.measured = emulator::measuredTrace(profile.modelled, launch, profile.blocks, profile.device,
                                               clock.value_or(profile.modelled.clockGhz));
    const Target &target = *findTarget(choice.options.target);
    profile.plain = resources(**plain, ran->variant, number, profile.plain);
    profile.profiled = resources(**profiled, ran->variant, number, profile.profiled);

    if (Result<std::vector<Counter>> counters =
            !wantsCounters ? std::vector<Counter>()
            : onGpu        ? countersOf(launch.entry)
                           : Result<std::vector<Counter>>(
                                 tlc::Error{.message = "no counters of hardware, because there is no GPU"}))
      profile.counters = std::move(*counters);
    else
      profile.whyNoCounters = counters.error().message;

    const int multiprocessors = chosen.device().properties().multiprocessors;
    profile.roofline = rooflineOf(**plain, (*plain)->variants[ran->variant], target, multiprocessors);
    profile.roofline.kernel = profile.kernel;
    profile.roofline.device = profile.device;
    profile.roofline.flops = choice.request.kernel->flops(choice.request.values);
    profile.roofline.bytes = choice.request.kernel->bytes(choice.request.values);
    // The model knows no limit of the device's memory.
    profile.roofline.seconds =
        onGpu
            ? median(profile.plainSeconds)
            : std::max(emulator::launchMicroseconds(profile.modelled, launch, target, multiprocessors) * 1e-6,
                       profile.roofline.bytes / profile.roofline.bytesPerSecond);
    return profile;
  }

  kernels::CompileLog log;

private:
  Result<Program> compile(const Profiling &wanted) {
    CompileOptions options = choice.options;
    options.profiling = wanted;
    log = {};
    Result<Program> program =
        library.compile(choice.request, options, log, chosen.device().properties().code);
    if (!program)
      return program;
    if (wanted.records == 0)
      print(log.diagnostics, Remarks::hide);
    log = {};
    return program;
  }

  Result<std::shared_ptr<const kernels::Problem>> problem(kernels::DerivedInputs derived) const {
    return kernels::Problem::create(choice.request, {.seed = seed, .derived = derived});
  }

  /// One cluster by the emulator's model, whose clock the kernel reads as well.
  Result<Ran> traceOnModel(const Program &program, emulator::Trace &trace) {
    TraceRequest request{.block = profiling.block, .launch = planned, .trace = {}};
    EmulatorOptions options = model;
    options.trace = &request;
    const std::unique_ptr<Device> device = createEmulatorDevice(std::move(options));
    auto inputs = problem(kernels::DerivedInputs::random); // nothing is compared
    if (!inputs)
      return inputs.error();
    Result<kernels::KernelRun> run = kernels::KernelRun::create(*device, *inputs, program, choice.alignment);
    if (!run)
      return run.error();
    if (Result<void> done = run->execute(); !done)
      return done.error();
    trace = std::move(request.trace);
    Result<Ran> ran = ranOf(*run);
    if (!ran)
      return ran;
    const std::vector<Launch> &launches = program->variants[ran->variant].launches;
    const auto launch = find_if(launches, [&](const Launch &each) { return each.entry == trace.kernel; });
    ran->launch = size_t(launch - launches.begin());
    return ran;
  }

  Result<Ran> ranOf(const kernels::KernelRun &run) const {
    const Artifact &artifact = run.program().artifact();
    Result<size_t> variant = variantOf(artifact, run.variant());
    if (!variant)
      return variant.error();
    Ran ran{.variant = *variant};
    if (any_of(artifact.variants[*variant].launches,
               [](const Launch &each) { return !each.names.marks.empty(); }) ||
        StringRef(artifact.variants[*variant].ptx).contains(profileBufferName)) {
      Result<std::vector<std::byte>> buffer = run.program().readVariable(*variant, profileBufferName);
      if (!buffer)
        return buffer.error();
      ran.buffer = std::move(*buffer);
    }
    return ran;
  }

  /// Both programs in turns; what the last launch of the profiled one recorded.
  Result<Ran> timeOnGpu(const Program &plain, const Program &profiled, Profile &profile) {
    auto inputs = problem(kernels::DerivedInputs::computed);
    if (!inputs)
      return inputs.error();
    auto without = kernels::KernelRun::create(chosen.ranks, *inputs, plain, choice.alignment);
    if (!without)
      return without.error();
    auto with = kernels::KernelRun::create(chosen.ranks, *inputs, profiled, choice.alignment);
    if (!with)
      return with.error();
    Result<kernels::Verdict> verdict = with->verify();
    if (!verdict)
      return verdict.error();
    profile.verdict = std::move(*verdict);
    const std::vector<Contestant> contestants = {[&] { return without->launch(); },
                                                 [&] { return with->launch(); }};
    auto times = timeInTurns(chosen.ranks, contestants, rounds);
    if (!times)
      return times.error();
    profile.plainSeconds = std::move((*times)[0]), profile.seconds = std::move((*times)[1]);
    if (Result<void> done = chosen.device().synchronize(); !done)
      return done.error();
    for (auto [run, resources] : {std::pair(&*without, &profile.plain), std::pair(&*with, &profile.profiled)})
      addCompilation(*run, *resources);
    return ranOf(*with);
  }

  /// What the driver knows of the machine code that it runs.
  void addCompilation(const kernels::KernelRun &run, Resources &resources) const {
    const CudaCompilation *compilation = cudaCompilationOf(run.program());
    if (!compilation)
      return;
    const std::vector<Variant> &variants = run.program().artifact().variants;
    size_t number = profiling.launch;
    for (const Variant &variant : variants) {
      if (variant.name == run.variant())
        break;
      number += variant.launches.size();
    }
    if (number >= compilation->kernels.size())
      return;
    resources.registers = unsigned(compilation->kernels[number].registers);
    resources.spilledBytes = unsigned(compilation->kernels[number].spillBytes);
  }

  /// Adds to what the driver knows what ptxas and the table of targets know.
  Resources resources(const Artifact &artifact, size_t variant, size_t number, Resources known) const {
    const Launch &launch = artifact.variants[variant].launches[number];
    const Target &target = *findTarget(choice.options.target);
    if (const auto ptxas = findPtxas(); ptxas && known.registers == 0) {
      if (auto machine = assemble(*ptxas, artifact.variants[variant].ptx, target)) {
        for (const KernelResources &kernel : machine->kernels)
          if (kernel.entry == launch.entry)
            known = {kernel.registers, kernel.spillStoreBytes, 0};
      } else {
        consumeError(machine.takeError());
      }
    }
    const LaunchBounds bounds = boundsOf(artifact.variants[variant].ptx, launch.entry);
    const unsigned registers =
        known.registers != 0 ? known.registers
                             : target.maxRegistersForBlock(launch.threads, std::max(1u, bounds.residents));
    known.blocks = occupancyOf({launch.threads, registers, launch.sharedBytes}, target).blocks();
    return known;
  }

  KernelChoice &choice;
  ChosenDevice &chosen;
  EmulatorOptions model;
  Profiling profiling;
  size_t planned; ///< the launch among those of one block at least
  RoundOptions rounds;
  uint64_t seed;
  bool wantsCounters;
  kernels::Library library;
};

std::string textOf(const Resources &resources) {
  std::string text = resources.registers != 0 ? std::to_string(resources.registers) + " registers per thread"
                                              : "registers not known, because ptxas is not installed";
  if (resources.spilledBytes)
    text += ", " + std::to_string(*resources.spilledBytes) + " bytes spilled";
  return text + ", " + std::to_string(resources.blocks) + (resources.blocks == 1 ? " block" : " blocks") +
         " per multiprocessor";
}

void printText(const Profile &profile, const emulator::TraceSummary &summary) {
  outs() << summaryText(profile.measured, summary);
  outs() << fmt::format("by the model {} cycles\n", profile.modelled.cycles);
  outs() << fmt::format("{} records", profile.recorded());
  if (profile.lost() != 0)
    outs() << fmt::format(", {} more had no room", profile.lost());
  if (!profile.seconds.empty())
    outs() << fmt::format("; {:.2f} us, with records {:.2f} us, {:+.1f} %",
                          median(profile.plainSeconds) * 1e6, median(profile.seconds) * 1e6,
                          100 * profile.slowdown());
  outs() << '\n' << textOf(profile.plain) << "; with records " << textOf(profile.profiled) << '\n';
  if (profile.roofline.flops > 0)
    outs() << textOf(profile.roofline) << '\n';
  for (const Counter &counter : profile.counters)
    outs() << counter.name << ": " << counter.value << (counter.unit.empty() ? "" : " ") << counter.unit
           << '\n';
  if (!profile.whyNoCounters.empty())
    outs() << profile.whyNoCounters << '\n';
}

void printJson(const Profile &profile, const emulator::TraceSummary &summary) {
  json::OStream os(outs());
  const auto resources = [&](StringRef name, const Resources &of) {
    os.attributeObject(name, [&] {
      if (of.registers != 0)
        os.attribute("registers", of.registers);
      if (of.spilledBytes)
        os.attribute("spilled_bytes", *of.spilledBytes);
      os.attribute("blocks_per_multiprocessor", of.blocks);
    });
  };
  os.object([&] {
    os.attribute("kernel", json::fixUTF8(profile.kernel));
    os.attribute("device", profile.device);
    os.attribute("cycles", profile.measured.cycles);
    os.attribute("clock_ghz", profile.measured.clockGhz);
    os.attribute("modelled_cycles", profile.modelled.cycles);
    os.attribute("records", profile.recorded());
    os.attribute("lost_records", profile.lost());
    os.attributeArray("multiprocessors", [&] {
      for (const BlockProfile &block : profile.blocks)
        os.value(block.multiprocessor);
    });
    if (!profile.seconds.empty()) {
      os.attribute("us", median(profile.plainSeconds) * 1e6);
      os.attribute("profiled_us", median(profile.seconds) * 1e6);
      os.attribute("slowdown", profile.slowdown());
    }
    resources("plain", profile.plain);
    resources("profiled", profile.profiled);
    os.attributeObject("roofline", [&] {
      os.attribute("flops", profile.roofline.flops);
      os.attribute("bytes", profile.roofline.bytes);
      os.attribute("us", profile.roofline.seconds * 1e6);
      os.attribute("peak_flops_per_second", profile.roofline.ceilings[profile.roofline.own].flopsPerSecond);
      os.attribute("peak_bytes_per_second", profile.roofline.bytesPerSecond);
      os.attribute("share", profile.roofline.share());
    });
    os.attributeArray("counters", [&] {
      for (const Counter &counter : profile.counters)
        os.object([&] {
          os.attribute("name", json::fixUTF8(counter.name));
          os.attribute("value", json::fixUTF8(counter.value));
          os.attribute("unit", json::fixUTF8(counter.unit));
        });
    });
    os.attributeArray("lanes", [&] {
      for (const emulator::LaneSummary &lane : summary.lanes)
        os.object([&] {
          os.attribute("block", lane.lane.block);
          os.attribute("name", json::fixUTF8(lane.lane.name));
          os.attribute("warps", uint64_t(lane.lane.tracks.size()));
          os.attribute("run", lane.run);
          os.attribute("done", lane.done);
          os.attributeArray("waits", [&] {
            for (const auto &[what, cycles] : lane.waits)
              os.object([&] {
                os.attribute("name", json::fixUTF8(what));
                os.attribute("cycles", cycles);
              });
          });
        });
    });
  });
  outs() << '\n';
}

} // namespace

ProfileCommand::ProfileCommand()
    : command("profile", "Show when the warps of a block wait for what, as they record it on the GPU"),
      kernel(cl::sub(command), cl::Positional, cl::desc("<kernel | file.cpp>")),
      outputs(
          "o", cl::sub(command), cl::value_desc("file"),
          cl::desc(
              "Timelines to write, the recorded one and the model's: .json for ui.perfetto.dev, .svg for a "
              "browser; may be repeated")),
      roofline("roofline", cl::sub(command), cl::value_desc("file.svg"),
               cl::desc("Roofline to write: the peaks of the device, and what the kernel reaches")),
      block("block", cl::sub(command), cl::value_desc("number"), cl::init(0),
            cl::desc("Block to record, with the others of its cluster, counted in x, then y, then z")),
      launch("launch", cl::sub(command), cl::value_desc("number"), cl::init(0),
             cl::desc("Launch to record where a program makes several, counted from 0")),
      records("records", cl::sub(command), cl::value_desc("count"), cl::init(4096),
              cl::desc("Records that each warp has room for, a power of two")),
      rounds("rounds", cl::sub(command), cl::init(RoundOptions().rounds),
             cl::desc("Turns of the kernel and of the one that records, on a GPU")),
      launches("launches", cl::sub(command), cl::init(RoundOptions().launches),
               cl::desc("Launches in a turn")),
      seed("seed", cl::sub(command), cl::value_desc("number"),
           cl::desc("Seed of the inputs instead of a fresh one")),
      noCounters("no-counters", cl::sub(command), cl::desc("Do without Nsight Compute")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")), device(command), flags(command) {
}

Result<void> ProfileCommand::checkFlags() const {
  if (kernel.empty())
    return invalid("expected a kernel, but got none; 'tlc profile --help' shows how");
  for (const std::string &output : outputs)
    if (!StringRef(output).ends_with(".json") && !StringRef(output).ends_with(".svg"))
      return invalid("expected -o to name a file that ends in .json or .svg, but got '" + excerpt(output) +
                     "'");
  if (roofline.getNumOccurrences() && !StringRef(roofline).ends_with(".svg"))
    return invalid("expected --roofline to name a file that ends in .svg, but got '" + excerpt(roofline) +
                   "'");
  if (!isPowerOf2_32(records) || records > maxProfileRecords)
    return invalid("expected --records to be a power of two up to " + std::to_string(maxProfileRecords) +
                   ", but got " + std::to_string(records));
  for (const cl::opt<int> *count : {&rounds, &launches})
    if (*count < 1 || *count > 10000)
      return invalid(
          fmt::format("expected --{} from 1 to 10000, but got {}", count->ArgStr.str(), count->getValue()));
  return {};
}

ExitCode ProfileCommand::execute() const {
  if (Result<void> valid = checkFlags(); !valid)
    return failUsage(valid.error().message);
  for (const std::string &output : outputs)
    if (Result<void> writable = checkOutput(output); !writable)
      return fail(writable.error().message);
  if (roofline.getNumOccurrences())
    if (Result<void> writable = checkOutput(roofline); !writable)
      return fail(writable.error().message);
  Result<EmulatorOptions> model = device.emulatorOptions();
  if (!model)
    return failUsage(model.error().message);
  Result<std::vector<std::optional<uint64_t>>> schedules = device.scheduleSeeds();
  if (!schedules || schedules->front() || schedules->size() != 1)
    return failUsage(schedules ? "expected no --schedule because a profile has the order of times"
                               : schedules.error().message);
  const Format format = json ? Format::json : Format::text;
  std::vector<Diagnostic> ofFile;
  Result<KernelChoice> choice =
      flags.choice(kernel, kernels::DefaultSizes::usual, {}, json ? &ofFile : nullptr);
  if (!choice)
    return failBy(choice.error(), ofFile, format);
  if (const int64_t ranks = choice->request.kernel->ranks(choice->request.values); ranks != 1)
    return failUsage(
        fmt::format("expected a kernel of one device to profile, but '{}' runs on {}, whose warps wait for "
                    "each other",
                    kernel.getValue(), ranks));
  Findings findings;
  const Target *emulated = flags.namesTarget() ? findTarget(choice->options.target) : nullptr;
  Result<ChosenDevice> chosen = device.create(emulated, findings);
  if (!chosen)
    return failBy(chosen.error());
  if (chosen->kind == DeviceKind::emulator && !device.namesEmulator())
    return fail(
        "expected a GPU to profile a kernel on, but found none; --device emulator records the times of the "
        "emulator's model instead");
  if (!flags.namesTarget())
    choice->options.target = chosen->device().properties().target;
  model->target = findTarget(choice->options.target);
  model->multiprocessors = chosen->device().properties().multiprocessors;

  const Heartbeat heartbeat([what = "profiling " + kernel] { return what; });
  Profiler profiler(*choice, *chosen, std::move(*model), {records, block, launch},
                    {.rounds = rounds, .launches = launches, .shuffled = true},
                    seed.getNumOccurrences() ? seed : std::random_device()(), !noCounters);
  Result<Profile> profile = profiler.run();
  if (!profile)
    return failCompile(profile.error(), profiler.log.diagnostics, format);
  if (profile->verdict && !profile->verdict->correct())
    return fail("wrong result of the kernel that records: " + profile->verdict->complaint);
  const emulator::TraceSummary summary = summarise(profile->measured),
                               modelled = summarise(profile->modelled);
  if (profile->lost() != 0)
    errs() << fmt::format(
        "tlc: warning: {} records had no room, those that came last; expected --records above {}, or a "
        "smaller problem\n",
        profile->lost(), records.getValue());
  const emulator::Timeline timelines[] = {{profile->measured, summary}, {profile->modelled, modelled}};
  for (const std::string &output : outputs) {
    const std::string text =
        StringRef(output).ends_with(".json") ? toChromeJson(timelines) : toSvg(timelines, {});
    if (Result<void> written = writeOutput(output, text); !written)
      return fail(written.error().message);
  }
  if (roofline.getNumOccurrences()) {
    if (profile->roofline.flops <= 0)
      return fail(fmt::format(
          "'{}' counts no arithmetic, so it has no place in a roofline; a kernel of a file of your own "
          "says how many operations it makes with .flops",
          kernel.getValue()));
    if (Result<void> written = writeOutput(roofline, toSvg(profile->roofline)); !written)
      return fail(written.error().message);
  }
  if (json)
    printJson(*profile, summary);
  else
    printText(*profile, summary);
  return ExitCode::success;
}
